"""What happens to a pod or a template when it is written: one file a step, joined in `chain`.

What is changed where:

- which RuntimeClass a pod gets: `webhook/steps/runtime_class`; what the informer has not seen yet:
  `webhook/world/cluster`
"""

"""Pod scheduling policies: which of them concern a pod, and how they are merged into it.

What is changed where:

- how a policy is merged into a pod: `core/pod_policies/merging`, `core/kubernetes/node_terms`; what is left of terms
  that contradict it: `core/pod_policies/single_requirements`; which and in what order: `core/pod_policies/policies`
- what an update may not break of a policy: `core/pod_policies/breaches`; which updates are judged:
  `webhook/pods/updates`
"""

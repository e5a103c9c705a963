"""Pod scheduling policies: which of them concern a pod, and how they are merged into it.

What is changed where:

- how a policy is merged into a pod: `core/policies/policy_merge`, `core/kubernetes/node_terms`; what is left of terms
  that contradict it: `core/policies/single_requirements`; which and in what order: `core/policies/pod_policies`
- what an update may not break of a policy: `core/policies/policy_breaches`; which updates are judged:
  `webhook/pods/updates`
"""

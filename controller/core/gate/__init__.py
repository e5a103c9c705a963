"""What is written on pods: how ours opens and narrows them, whose they are, and who else may touch that.

What is changed where:

- what becomes of a release patch without an answer: `core/gate/release_fate`; `runtime/release_doubts`, kept by
  `cache/in_flight/doubts`
- what the release patch contains: `core/gate/release_patch`; what is narrowed, and what contradicts:
  `core/gate/narrowing`
- what `penstock release` sends, and tries again: `core/gate/opening`, `runtime/gate_opener`
- what is protected from whom: a rule in `core/gate/protection`, asked by `webhook/checks/protection`; who is asked
  about: `config/webhook/validating.yaml`
- which Jobs are held as a whole, and what is protected of them: `core/gate/job_protection`, asked by
  `webhook/steps/jobs`, `webhook/checks/templates`; in the apiserver `config/policy/jobs.yaml`, `job_updates.yaml`
- which labels of Kueue count, and what they become: `core/gate/kueue_labels`; at create `webhook/steps/kueue_labels`,
  `queue`; in the apiserver `config/policy/kueue.yaml`, `mutating.yaml`
- where a pod that Kueue let run is charged: `core/gate/adoption`; what is read and sent: `runtime/kueue_pods`
"""

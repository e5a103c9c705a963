"""`penstock policy`: what policies do to pods, told to people before it happens.

The answers are the webhook's own: its pure steps run here on a World made of files, or of a cluster's lists. Nothing
here decides. This is the one part of `controller` that may import the webhook, and never its server, certificates or
composition root.

What is changed where:

- what `penstock policy` reads beside pods: a row in `cli/policy/kinds`; from where: `from_files`, `from_cluster`
- what a step is called when it is explained: `cli/policy/trace.TITLES`
- which steps a report judges pods by: `cli/policy/enforced`
- what is expected of a pod in a policy test: `cli/policy/suite` (fields), `expectations` (meaning)
- which keys of Kueue have no effect, and what people are told: `cli/policy/kueue_unsupported`, and the same in
  `config/warnings/kueue_unsupported.yaml`
"""

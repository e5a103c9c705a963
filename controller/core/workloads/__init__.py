"""What waits and what runs: pods, their groups, workloads in order, and what a decision may say of them.

What is changed where:

- who goes first: `core/workloads/workload.order_key`; what other objects say of that: `cache/queue/order_positions`;
  how priority grows: `core/queueing/ageing`
- which pods are one gang, how many it starts with, whether it is complete, where it stands: `core/workloads/groups`
  (what a pod says), `core/workloads/gangs` (what that makes), marked by `cache/queue/gangs`
- what a PodGroup of Kubernetes says beside the size of its gang, and what of it is not kept to:
  `core/workloads/native_groups`
- whose place a gang keeps that lost it, and for how long: `core/workloads/kept_places`, `cache/queue/kept_places`; who
  comes in there: `core/decision/kept_places`; in the status: `runtime/kept_status`
- what a gang says of its zone or rack; which one it gets, and why none: `core/workloads/topology`;
  `core/fitting/domains`
"""

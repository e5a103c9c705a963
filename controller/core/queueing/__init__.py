"""What queues and flavors say: as they are written, at a moment, and by hand.

What is changed where:

- which WorkloadPriorityClasses a queue takes: `core/queueing/allowed_classes`; who moves when that changes:
  `cache/queue/allowed_classes`
- what becomes of pods for which kube-scheduler may preempt: `core/queueing/scheduler_preemption`; at create
  `webhook/steps/scheduler_preemption`; who moves when a queue says otherwise: `cache/queue/allowed_classes`
- what past usage of LocalQueues and their users counts, and how it orders: `core/queueing/past_usage`,
  `core/turns/past_usage_order`; kept by `cache/usage/past_usage`, in their status (`cache/usage/usage_sums`)
- what a queue comes to at a moment (shares, windows): `core/queueing/effective`, kept by `cache/queue/in_effect`, which
  wakes the loop when a window opens or closes
- what a window of a queue may override: `api/schedule`, `objects/queues`, `core/queueing/effective`
- when a later flavor is tried (`fallbackAfter`): `core/queueing/fallback`, `core/fitting/placement.place`; timers:
  `cache/timers/fallbacks` (all timers of pods: `cache/timers/clocks`)
- how many pods of a queue may be on spot: `core/queueing/mix` (arithmetic), `core/fitting/mixing`
- which flavors are open to a pod at once, and which of them pays: `core/queueing/flavor_sets`; where it landed:
  `cache/usage/landing`
- what a queue says of preemption: `core/queueing/preemption_policy`; who may be preempted by that:
  `core/preemption/eligibility`, `core/candidates/candidate`
- what `penstock hold` and `top` write, and what it means: `core/queueing/operator_actions`; what is sent:
  `runtime/operator_actions`; what can be named: `runtime/operator_action_targets`; who stands behind one on top:
  `cache/queue/queue_top`
"""

"""Pods on their way out: which are leaving, which are lost, and which may be evicted at all, whichever rule asks.

What is changed where:

- which pods may be returned to their owner, and at what cost: `core/evictions/returns`
- for how long others wait for a pod to go: `core/evictions/leaving`; what is under way: `cache/in_flight/evictions`
- when a deleted pod on a node that died is charged no more: `core/evictions/lost_pods`; timers, nodes that come back:
  `cache/timers/lost_pods`
"""

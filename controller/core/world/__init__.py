"""The world as one decision sees it: what is judged of its pods alone, and what is known from one before.

What is changed where:

- whose place a gang keeps that lost it, and for how long: `core/world/kept_places`, `cache/kept_places`; who comes in
  there: `core/decision/kept_places`; in the status: `runtime/kept_status`
- how long a pod is expected to run, and until when: `core/world/runtimes`, `core/world/run_history`; kept by
  `cache/foresight`; whom nobody believes: `cache/outruns`
- when a deleted pod on a node that died is charged no more: `core/world/lost_pods`; timers, nodes that come back:
  `cache/lost_pods`
"""

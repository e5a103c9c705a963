"""The controller as a running program: composition root, decision loop, executor, and the lanes of side writes.

What is changed where:

- when a decision is made: `runtime/loop`
- how a pod is evicted, and what it is told: `runtime/eviction_lane`; what is under way: `cache/in_flight/evictions`
- whether all of a gang may go: `runtime/eviction_requests`; what budgets let go:
  `core/kubernetes/disruption_budgets`, `kube/decode_disruptions`
- what a new leader waits for before it decides: `runtime/takeover`, `runtime/app`
- what it knows by then from standing by: `cache/relays`, `runtime/watches`, `kube/catching_up`
- what an answer of the apiserver means: `runtime/executor`
- when Python looks for garbage: `runtime/garbage`
"""

"""What people ask about queues, answered from one snapshot: no requests, no clock, nothing that is decided elsewhere.

A change of what a queue shows: `queues`; of what a flavor or a node shows: `nodes`. Who waits, in which order: `lines`,
`workloads`, `order_parts`. Why one waits, and what would admit it: `explanations`; which changes are tried for which
reason: `remedies`; what each of them does to a snapshot: `changes`. Rows are msgspec Structs: their fields are those of
the JSON that people and programs read, with amounts as Kubernetes quantities and times as RFC 3339.
"""

"""Whom to evict for a workload that cannot go in: who may be asked, in which order, and how many.

What is changed where:

- how many go, and for which attempt: what is short, and who is in the way: `core/preemption/short_columns`; the
  search: `core/preemption/victim_search`, `core/preemption/attempts`, `core/preemption/removals`,
  `core/preemption/one_node`; whom queues that borrow give up: `core/preemption/offers`, `core/world/offer`; who of
  them goes for whom: `core/preemption/giving_way`, `core/quota/falling_usage`; by shares:
  `core/preemption/fair_preempting`, `core/preemption/targets`, `core/quota/surplus`, and whether a search is worth it
  `core/preemption/larger_shares`; whom each queue has to ask: `core/preemption/victim_lines`; on which nodes one pod
  may come to fit: `core/preemption/single_pods`; whether anybody may help at all, told before a search:
  `core/preemption/any_victims`, `core/preemption/possible_room`
- for whom others go, and what is held for it: `core/preemption/preempting`; on which nodes:
  `core/decision/held_nodes`
- when rounds of preemption end; who counts as gone meanwhile: `core/preemption/rounds`; `core/ledgers/away`
"""

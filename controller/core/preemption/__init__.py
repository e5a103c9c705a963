"""Whom to evict for a workload that cannot go in: who may be asked, in which order, and how many.

What is changed where:

- who may be preempted at all, and in which order: `core/preemption/eligibility` (of one pod, `_found`: its owner,
  `minimumRuntime`, rounds). Who may go is kept from one decision to the next; a rule that depends on time has to be
  in `Candidates.is_lasting`, and its end in `cache/timers/preemptible`, unless a window of the queue brings it
- what a workload is short of, and which victims would leave that: `core/preemption/short_columns`
- whether anybody may help, before a search: `core/preemption/any_victims`, `core/preemption/possible_room`; by shares
  `core/preemption/larger_shares`
- the search, attempt by attempt: `core/preemption/victim_search`, `core/preemption/attempts`; fewest victims:
  `core/preemption/removals`; for one pod, node by node: `core/preemption/one_node`, `core/preemption/single_pods`
- which pods of borrowing queues can be reclaimed: `core/preemption/reclaimable_index`, `core/candidates/reclaimable`;
  in which order for one preemptor: `core/preemption/reclaim_order`, `core/quota/falling_usage`
- preemption by shares: `core/preemption/fair_preempting`, `core/preemption/targets`, `core/quota/surplus`,
  `core/preemption/victim_lines`
- for whom others go, and what is held for it: `core/preemption/preempting`; on which nodes:
  `core/decision/held_nodes`
- when rounds of preemption end; who counts as gone meanwhile: `core/preemption/rounds`; `core/ledgers/simulation`
"""

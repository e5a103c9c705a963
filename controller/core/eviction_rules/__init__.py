"""Which admitted pods go back, rule by rule.

What is changed where:

- who is evicted: a rule joined in `core/eviction_rules/rules`; for a drain `core/eviction_rules/draining`, for what a
  queue uses too much `core/eviction_rules/over_quota`; that gangs go as a whole: `core/eviction_rules/whole_gangs`; who
  may be returned at all, by whichever rule: `core/evictions/returns`; spared from preemption alone:
  `core/preemption/eligibility`, whose candidates `core/eviction_rules/over_quota` asks too
- when a reservation is overdue: `core/eviction_rules/reservations`; timers: `cache/timers/reservations`
- when an Autoscaled flavor is dry: `core/eviction_rules/stock_outs`; kept by `cache/timers/stock_outs` and in the
  flavor's status
"""

"""Which admitted pods go back, rule by rule.

What is changed where:

- who is evicted: a rule joined in `core/evictions/rules`; for a drain `core/evictions/draining`, for what a queue
  uses too much `core/evictions/over_quota`; that gangs go as a whole: `core/evictions/whole_gangs`; who may be
  returned at all, by whichever rule: `core/world/returns`; spared from preemption alone: `core/preemption/eligibility`,
  whose candidates `core/evictions/over_quota` asks too
- when a reservation is overdue: `core/evictions/reservations`; timers: `cache/reservations`
- when an Autoscaled flavor is dry: `core/evictions/stock_outs`; kept by `cache/stock_outs` and in the flavor's status
"""

"""The one decision, from doors to evictions.

What is changed where:

- in which order the rules come: `core/decision/decide`; one look at a head: `core/decision/placing`; who goes before
  a workload that borrows: `core/decision/owners`; what an admission takes: `core/decision/admissions`
- which classes a decision looks at: `core/decision/selection`, `core/decision/further_lines`; who may fit, in arrays:
  `core/feasibility`, by `core/quota/available_amounts` and `core/capacity/fitting_pods`; kept by
  `cache/index/kept_index`, `cache/index/queue_windows`
- why a queue is closed: `core/decision/admission_checks`
"""

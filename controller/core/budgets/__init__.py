"""Hours and money in a period: what a pod uses of them each second, and what that comes to over time.

What is changed where:

- what a budget is, what a pod uses of it, and what its end does: `core/budgets/budget`, `core/budgets/periods`;
  `core/quota/used_up`
- how use is summed over time, and foretold: `core/budgets/tally`, kept by `cache/budgets/budget_book`; what outlives a
  restart: `runtime/budget_status`, `objects/budgets`, and a clock that jumps: `cache/budgets/clock_jumps`
"""

"""The tree of quotas: what a queue may use, uses and has borrowed, by shares too; users' limits, used-up budgets.

What is changed where:

- what a queue may borrow, lend and use: `core/quota/quota_tree` (static), `core/quota/tree_usage` (what is used)
- what each user may use; whose a pod is: `core/quota/user_limits`; `core/gate/users`, noted by `webhook/steps/users`,
  in the apiserver by `config/policy/users.yaml`
"""

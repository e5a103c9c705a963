"""The tree of quotas: what a queue may use, uses and has borrowed, by shares too; users' limits, used-up budgets."""

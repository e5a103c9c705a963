"""The tree of quotas: what a queue may use, what it uses, what it has borrowed, by shares too."""

"""Whom to evict for a workload that cannot go in: who may be asked, in which order, and how many."""

"""Candidates for preemption: pods that go together, and what the queues of a tree would give up of theirs.

Values, and what of them is kept from one decision to the next. Who is one, and who goes: `core/preemption`.
"""

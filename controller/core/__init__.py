"""The domain, pure: no I/O, clock, randomness, asyncio, logging, pydantic or client.

Amounts, demand, label requirements and taints, flavors, quotas, node room, order, the snapshot, the decisions, the
one `decide`, and the release patch. Time and identity are arguments; what is decided is a value.
"""

"""The domain, pure: no I/O, clock, randomness, asyncio, logging, pydantic or client.

Time and identity are arguments; what is decided is a value. ARCHITECTURE.md says what each room here is for.

What is changed where:

- a reason, or its words: `core/reasons`, `core/explaining/wording`
"""

"""A shadow controller: it decides as the leader does, writes nothing, and counts where the leader did something else.

What is changed where:

- what counts as the same admission: `observing/admissions`; as the same eviction: `observing/evictions`
- how differences are counted and logged: `observing/differences`
- what runs, and what does not: `observing/shadow`
"""

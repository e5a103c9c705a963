"""What `penstock doctor` looks at, one module a check; `findings` says what a check is, `every` lists them.

A check reads and writes nothing. Each finding has a test that breaks that very thing on a real control plane.
"""

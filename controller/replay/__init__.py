"""A snapshot as a file, recorded from a cluster, and back; what a plan says of it.

What is changed where:

- what a snapshot file holds: `replay/records` (raise `VERSION`), `replay/snapshot_file`; then `tests/corpus` anew
- what `penstock replay` says: `replay/outcome` (rows), `cli/replay` (tables)
"""

"""Kinds of objects, beside Job, that are held as a whole: what a WorkloadKind says of them, and how they are read."""

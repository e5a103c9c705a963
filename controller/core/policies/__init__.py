"""Pod scheduling policies: which of them concern a pod, and how they are merged into it."""

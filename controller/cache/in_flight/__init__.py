"""What was sent to the apiserver and not yet seen back: evictions, releases without an answer, releases refused."""

"""What is written on pods: how ours opens and narrows them, whose they are, and who else may touch that."""

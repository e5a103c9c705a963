"""What is written on pods: how ours opens and narrows them, and who else may touch that."""

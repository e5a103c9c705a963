"""What Kubernetes itself defines, as values: quantities, labels, taints, nodes, owners, RuntimeClasses."""

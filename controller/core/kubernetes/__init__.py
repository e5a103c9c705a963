"""What Kubernetes itself defines, as values: quantities, labels, taints, nodes, RuntimeClasses; no rule of ours."""

"""A node of a sandbox whose pods are real processes of this machine, and the way of the apiserver to them."""

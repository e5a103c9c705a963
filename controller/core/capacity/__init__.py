"""Which nodes are of a flavor, and what is free on them."""

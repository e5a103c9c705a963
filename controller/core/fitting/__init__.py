"""Where a workload fits, and why nowhere: flavors, nodes, domains of a topology."""

"""What waits and what runs: pods, their groups, workloads in order, and what a decision may say of them."""

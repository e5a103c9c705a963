"""What budgets have used over time, and what a clock that jumps does to that."""

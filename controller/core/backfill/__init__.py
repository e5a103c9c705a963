"""Who may pass a blocked workload without delaying it, and when that one fits."""

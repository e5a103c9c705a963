"""Hours and money in a period: what a pod uses of them each second, and what that comes to over time."""

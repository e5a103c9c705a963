"""Hours and money in a period: what a pod uses of them each second, and what is used up."""

"""A pod in a review: what it says, who creates it, how much of it is looked into, what is noted on it."""

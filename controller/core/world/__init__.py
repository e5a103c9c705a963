"""The world as one decision sees it: what is judged of its pods alone, and what is known from one before."""

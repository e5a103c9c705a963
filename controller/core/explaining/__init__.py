"""A wait for people: the figures behind it, and all of it in one sentence."""

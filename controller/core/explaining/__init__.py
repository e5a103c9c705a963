"""A wait for people, in one sentence."""

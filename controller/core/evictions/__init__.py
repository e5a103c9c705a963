"""Which admitted pods go back, rule by rule."""

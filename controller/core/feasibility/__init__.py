"""Which of all classes may fit, in arrays: a necessary test."""

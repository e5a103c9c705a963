"""The controller as a running program: composition root, decision loop, executor, and the lanes of side writes."""

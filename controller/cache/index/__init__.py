"""The index of what may fit, kept up as the cluster changes, and how much of each LocalQueue stands in it."""

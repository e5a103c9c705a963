"""Our rules on updates of pods against the real ones of Kubernetes, pair by pair."""

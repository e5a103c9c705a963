"""Pod scheduling policies: which concern a pod, how they are merged into it; and who may use SchedulingPolicies."""

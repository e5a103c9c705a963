"""What the apiserver of Kubernetes 1.36 or 1.37 allows when a pod is updated, as pure functions on plain JSON.

For whom: a release patch that must never be refused, and people who ask what may still be changed on a queued pod.
Each rule is a function that names the function of Kubernetes it mirrors; tests/differential holds all of them to the
real code. Subresources (status, resize, ephemeralcontainers, binding) have rules of their own, which are not here.
After a change run `make fuzz` and `make mutants`.
"""

from __future__ import annotations

from controller.core.pod_update.update import may_change
from controller.core.pod_update.violation import Cause, Rule, Violation

__all__ = ["Cause", "Rule", "Violation", "may_change"]

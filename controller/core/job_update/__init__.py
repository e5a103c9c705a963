"""What the apiserver of Kubernetes 1.36 or 1.37 allows when a Job is updated, as pure functions on plain JSON.

For whom: the patch that releases a Job as a whole, and the one that suspends it again. What of a pod template is well
formed is said by `pod_update`; what of it may change, and when, is said here. tests/differential holds all of it to the
real code. The status subresource has rules of its own, which are not here.
"""

from __future__ import annotations

from controller.core.job_update.update import may_change

__all__ = ["may_change"]

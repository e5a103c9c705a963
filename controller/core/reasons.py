"""Why a workload waits: one closed enum, the same word in pod conditions, Events, metrics, logs and the CLI."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final


class Reason(StrEnum):
    """The first thing to put right before the workload can be admitted."""

    QUOTA_EXCEEDED = "QuotaExceeded"
    """The cluster queue's quota is used up for now."""
    PARENT_QUEUE_LIMIT = "ParentQueueLimit"
    """The queue has used its own quota, and there is nothing left to borrow for now."""
    QUEUE_LIMIT = "QueueLimit"
    """A limit on all flavors together, of the cluster queue or of one above it, is reached for now."""
    NO_CAPACITY = "NoCapacity"
    """There is quota, but no node of a flavor has room now."""
    FLAVOR_DRY = "FlavorDry"
    """There is quota, but a flavor's nodes did not come when they were asked for; it is not tried for a while."""
    UNSCHEDULABLE = "Unschedulable"
    """There is quota, but kube-scheduler found no node of a flavor for such a pod; it is not tried for a while."""
    NEVER_FITS = "NeverFits"
    """Larger than any quota or node, or no node matches: waiting alone will not help."""
    PRIORITY = "Priority"
    """Behind another workload of a StrictFIFO queue."""
    QUEUE_STOPPED = "QueueStopped"
    """The local queue or the cluster queue is held by its stopPolicy."""
    QUEUE_NOT_FOUND = "QueueNotFound"
    """The named local queue, or the cluster queue behind it, does not exist."""
    QUEUE_INVALID = "QueueInvalid"
    """The cluster queue cannot be used as written, or names a flavor that does not exist."""
    NAMESPACE_NOT_SELECTED = "NamespaceNotSelected"
    """The cluster queue's namespaceSelector does not take the pod's namespace."""
    FOREIGN_GATE = "ForeignGate"
    """Another controller's scheduling gate is still on the pod."""
    INVALID_REQUESTS = "InvalidRequests"
    """The pod asks for an amount that cannot be counted."""
    UNSUPPORTED_RESOURCE_CLAIMS = "UnsupportedResourceClaims"
    """The pod or its PodGroup has resourceClaims whose devices cannot be counted before they are allocated."""
    GANG_INCOMPLETE = "GangIncomplete"
    """Not all members of the pod group exist yet."""
    MEMBERS_NEVER_COMPLETE = "MembersNeverComplete"
    """Not all members of the pod group exist, and no more have come for some time."""
    GANG_INVALID = "GangInvalid"
    """What the pods or the PodGroup say of their group cannot be kept to, or contradicts itself."""
    PREEMPTING = "Preempting"
    """Others were preempted for it, and it waits for them to go."""
    PATCH_REJECTED = "PatchRejected"
    """The apiserver or its admission refused the release patch; it is tried again."""
    PRIORITY_CLASS_NOT_FOUND = "PriorityClassNotFound"
    """The WorkloadPriorityClass that the pod names does not exist."""
    HELD = "Held"
    """Somebody holds the pod, or the Job that made it, by hand."""
    PENDING = "Pending"
    """Not yet looked at."""
    BUDGET_EXHAUSTED = "BudgetExhausted"
    """A budget of the cluster queue, or of one above it, is used up for its period."""
    USER_LIMIT = "UserLimit"
    """The user has what the cluster queue, or one above it, gives each user, for now."""
    MIX_LIMIT = "MixLimit"
    """So many of the queue's pods are on spot flavors that more have to be on others first."""
    WOULD_DELAY = "WouldDelay"
    """There is quota and room, but a Backfill queue keeps them for a workload before it, which it would delay."""
    PRIORITY_CLASS_NOT_ALLOWED = "PriorityClassNotAllowed"
    """The cluster queue, or one above it, does not take pods of the WorkloadPriorityClass that the pod names."""
    SCHEDULER_PREEMPTION_FORBIDDEN = "SchedulerPreemptionForbidden"
    """kube-scheduler may preempt others for the pod, and the cluster queue, or one above it, takes no such pods."""


HOLDS_UP_NOBODY = frozenset({Reason.NEVER_FITS, Reason.UNSCHEDULABLE, Reason.MIX_LIMIT, Reason.USER_LIMIT})
"""What the first of a StrictFIFO queue may wait for while those behind it go on: it may be so for good.

A mix opens by others that go onto other flavors, and what a user is at the limit of says nothing of other users.
"""

NEEDS_A_CHANGE = frozenset(
    {
        Reason.NEVER_FITS,
        Reason.QUEUE_NOT_FOUND,
        Reason.QUEUE_INVALID,
        Reason.NAMESPACE_NOT_SELECTED,
        Reason.INVALID_REQUESTS,
        Reason.UNSUPPORTED_RESOURCE_CLAIMS,
        Reason.GANG_INVALID,
        Reason.MEMBERS_NEVER_COMPLETE,
        Reason.PATCH_REJECTED,
        Reason.PRIORITY_CLASS_NOT_FOUND,
        Reason.PRIORITY_CLASS_NOT_ALLOWED,
        Reason.SCHEDULER_PREEMPTION_FORBIDDEN,
    }
)
"""What lasts until somebody changes something: waiting alone does not end it."""

QUOTA_REASONS = frozenset(
    {Reason.QUOTA_EXCEEDED, Reason.PARENT_QUEUE_LIMIT, Reason.QUEUE_LIMIT, Reason.USER_LIMIT, Reason.MIX_LIMIT}
)
"""What ends when admitted workloads of the tree do, wherever they ran."""

_LEFTOVER: Final = "waits for what pods leave that others preempted"


def waits_for(count: int, *, has_begun: bool) -> str:
    """Say for whom a workload waits with `Preempting`: so many pods go for it; `has_begun`: any ever did."""
    if not count:
        return "waits for preempted pods to go" if has_begun else _LEFTOVER
    return f"waits for {count} preempted pod{'s' * (count > 1)} to go"


def has_begun(reason: str, message: str) -> bool:
    """Say whether a condition told that pods go for its workload: a controller that starts knows it by that alone."""
    return reason == Reason.PREEMPTING and _LEFTOVER not in message


HOPELESS = frozenset({Reason.NEVER_FITS, Reason.FLAVOR_DRY, Reason.UNSCHEDULABLE, Reason.WOULD_DELAY})
"""What nobody who goes would end."""


def first_few(names: Sequence[str], most: int = 5) -> str:
    """Write the first of some names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"

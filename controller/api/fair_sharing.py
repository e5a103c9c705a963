"""Fair sharing as a ClusterQueue writes it, and as its status says it. The rules are `core.fair_turns`."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, StrictInt

from controller.api.base import Model, Status
from controller.api.rules import Fault, Rule, SchemaKeys, fault, rules
from controller.api.values import Quantity

_ONLY_BELOW: Final = "goes only with spec.parent: without one there is nobody to share with"
HAS_SOMEBODY_TO_SHARE_WITH: Final = Rule(
    "!has(self.fairSharing) || !has(self.fairSharing.weight) || has(self.parent)",
    f"weight {_ONLY_BELOW}",
    field_path=".fairSharing",
)


_ONLY_AT_THE_ROOT: Final = "goes only on the root of a tree, which has no spec.parent: it holds for all of the tree"
SAID_BY_THE_ROOT: Final = Rule(
    "!has(self.fairSharing) || !has(self.fairSharing.preemptionStrategies) || !has(self.parent)",
    f"preemptionStrategies {_ONLY_AT_THE_ROOT}",
    field_path=".fairSharing",
)
_FINAL, _INITIAL = "LessThanOrEqualToFinalShare", "LessThanInitialShare"
_IN_ORDER = f"must be one or both, {_FINAL} first"


def _in_order(strategies: tuple[str, ...]) -> tuple[str, ...]:
    if strategies not in ((_FINAL,), (_INITIAL,), (_FINAL, _INITIAL)):
        raise fault(_IN_ORDER)
    return strategies


_STRATEGIES = Rule(f"size(self) == 1 || self == ['{_FINAL}', '{_INITIAL}']", _IN_ORDER)


class FairSharing(Model):
    """How the queues of a tree take turns. On the root, even empty, it lets the whole tree share fairly."""

    weight: Annotated[
        Quantity | None,
        Field(
            description="What the queue counts for among the queues of its parent: its share is what it has borrowed, "
            "of all that it could get, divided by this. Left out: 1. Zero: as soon as it borrows, it goes after all "
            "others. Only with a parent, and only in effect where the root of the tree has fairSharing."
        ),
    ] = None
    preemption_strategies: Annotated[
        tuple[Literal["LessThanOrEqualToFinalShare", "LessThanInitialShare"], ...] | None,
        Field(
            description="When a workload that borrows preempts those of a queue that does, of the tree's queues that "
            "have preemption.reclaimWithinCohort. LessThanOrEqualToFinalShare: the share of its queue will be no "
            "larger than the other's will be. LessThanInitialShare: smaller than the other's was. Left out: the first, "
            "and where that is not enough the second. Only on the root.",
            min_length=1,
            max_length=2,
        ),
        AfterValidator(lambda given: given if given is None else _in_order(given)),
        SchemaKeys(x_kubernetes_list_type="atomic", **rules(_STRATEGIES)),
    ] = None


def faults_of(written: FairSharing | None, *, has_parent: bool) -> list[Fault]:
    """Return what of a queue's fairSharing goes only with, or only without, a parent."""
    if written is None:
        return []
    faults = []
    if written.weight is not None and not has_parent:
        faults.append(Fault(("fairSharing", "weight"), written.weight, _ONLY_BELOW))
    if written.preemption_strategies is not None and has_parent:
        at = ("fairSharing", "preemptionStrategies")
        faults.append(Fault(at, list(written.preemption_strategies), _ONLY_AT_THE_ROOT))
    return faults


class FairSharingStatus(Status):
    """Where the queue stands among those of its parent."""

    weighted_share: Annotated[
        StrictInt,
        Field(
            description="What the queue has borrowed of each resource, in thousandths of what the queues of its parent "
            "could get at most; the largest of these, divided by the weight and rounded up. 9223372036854775807: the "
            "weight is zero.",
            ge=0,
        ),
        SchemaKeys(format="int64"),
    ] = 0

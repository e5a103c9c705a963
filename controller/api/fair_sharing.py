"""Fair sharing as a ClusterQueue writes it, and as its status says it. The rules are `core.turns.fair_turns`."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, StrictInt, model_validator

from controller.api.base import Model, Status
from controller.api.rules import Fault, Rule, SchemaKeys, fault, refuse, rules
from controller.api.schedule import BY_NAME, DurationText
from controller.api.values import Quantity, ReportedQuantity, Resources

_ONLY_BELOW: Final = "goes only with spec.parent: without one there is nobody to share with"
HAS_SOMEBODY_TO_SHARE_WITH: Final = Rule(
    "!has(self.fairSharing) || !has(self.fairSharing.weight) || has(self.parent)",
    f"weight {_ONLY_BELOW}",
    field_path=".fairSharing",
)


_ONLY_AT_THE_ROOT: Final = "goes only on the root of a tree, which has no spec.parent: it holds for all of the tree"
_OF_THE_ROOT: Final = ("preemptionStrategies", "usageHalfLife", "resourceWeights", "usageBy")
SAID_BY_THE_ROOT: Final = tuple(
    Rule(
        f"!has(self.fairSharing) || !has(self.fairSharing.{field}) || !has(self.parent)",
        f"{field} {_ONLY_AT_THE_ROOT}",
        field_path=".fairSharing",
    )
    for field in _OF_THE_ROOT
)
_NOTHING_TO_WEIGH: Final = "goes only with usageHalfLife: without it no usage is counted"
_FINAL, _INITIAL = "LessThanOrEqualToFinalShare", "LessThanInitialShare"
_IN_ORDER = f"must be one or both, {_FINAL} first"


def _in_order(strategies: tuple[str, ...]) -> tuple[str, ...]:
    if strategies not in ((_FINAL,), (_INITIAL,), (_FINAL, _INITIAL)):
        raise fault(_IN_ORDER)
    return strategies


_STRATEGIES = Rule(f"size(self) == 1 || self == ['{_FINAL}', '{_INITIAL}']", _IN_ORDER)


class FairSharing(Model):
    """How the queues of a tree take turns. On the root, even empty, it lets the whole tree share fairly."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule(
                "!has(self.resourceWeights) || has(self.usageHalfLife)",
                f"resourceWeights {_NOTHING_TO_WEIGH}",
                field_path=".resourceWeights",
            ),
            Rule(
                "!has(self.usageBy) || has(self.usageHalfLife)", f"usageBy {_NOTHING_TO_WEIGH}", field_path=".usageBy"
            ),
        )
    )

    weight: Annotated[
        Quantity | None,
        Field(
            description="The weight of the queue among the queues of its parent: its share is how much it has "
            "borrowed of what it could get, divided by the weight. Left out: 1. Zero: as soon as it borrows, it "
            "goes after all others. Only with a parent; in effect only if the root of the tree has fairSharing."
        ),
    ] = None
    preemption_strategies: Annotated[
        tuple[Literal["LessThanOrEqualToFinalShare", "LessThanInitialShare"], ...] | None,
        Field(
            description="When a borrowing workload may preempt workloads of another borrowing queue; applies to "
            "queues of the tree that have preemption.reclaimWithinCohort. "
            "LessThanOrEqualToFinalShare: if the share of its queue is then at most that of the other"
            " queue. LessThanInitialShare: if it is then less than the other queue's share was "
            "before. Left out: the first, and if that is not enough, the second. Only on the root.",
            min_length=1,
            max_length=2,
        ),
        AfterValidator(lambda given: given if given is None else _in_order(given)),
        SchemaKeys(x_kubernetes_list_type="atomic", **rules(_STRATEGIES)),
    ] = None
    usage_half_life: Annotated[
        DurationText | None,
        Field(
            description="The time after which past usage counts half, such as 168h, at most 744h. Within each "
            "queue of the tree, workloads of the same priority are ordered by what their namespace "
            "has used (see usageBy), the lowest usage first, and then by age. Left out: past usage "
            "does not count. Only on the root."
        ),
    ] = None
    resource_weights: Annotated[
        Resources | None,
        Field(
            description="The weight of past usage of each resource: of a core for cpu, of a GiB for memory, "
            "ephemeral-storage and huge pages, of one unit for anything else. Resources that are not "
            "listed have weight 1, pods 0. Only with usageHalfLife."
        ),
    ] = None

    usage_by: Annotated[
        Literal["Namespace", "NamespaceAndUser", "LocalQueue", "LocalQueueAndUser"] | None,
        Field(
            description="Whose past usage counts. Namespace (default): that of all LocalQueues of a namespace that "
            "belong to the ClusterQueue, together. LocalQueue: that of each LocalQueue by itself; users who may "
            "create LocalQueues then get a turn for each. NamespaceAndUser and LocalQueueAndUser: within each, "
            "also that of its users, as admission records them. Only with usageHalfLife."
        ),
    ] = None

    @model_validator(mode="after")
    def _weighs_something(self) -> Self:
        if self.usage_half_life is None:
            said = (("resourceWeights", self.resource_weights), ("usageBy", self.usage_by))
            refuse([Fault((field,), value, _NOTHING_TO_WEIGH) for field, value in said if value is not None])
        return self


class LocalFairSharing(Model):
    """What the LocalQueue counts for among those of its ClusterQueue."""

    weight: Annotated[
        Quantity,
        Field(
            description="Divides the past usage by which the queue is ordered. Default: 1. Zero: it goes after "
            "all that have a weight. Only users who may update the ClusterQueue may set it. In effect"
            " if the root of the ClusterQueue's tree has fairSharing.usageHalfLife."
        ),
    ] = 1


def faults_of(written: FairSharing | None, *, has_parent: bool) -> list[Fault]:
    """Return what of a queue's fairSharing goes only with, or only without, a parent."""
    if written is None:
        return []
    faults = []
    if written.weight is not None and not has_parent:
        faults.append(Fault(("fairSharing", "weight"), written.weight, _ONLY_BELOW))
    said = (written.preemption_strategies, written.usage_half_life, written.resource_weights, written.usage_by)
    for field, value in zip(_OF_THE_ROOT, said, strict=True):
        if value is not None and has_parent:
            faults.append(Fault(("fairSharing", field), value, _ONLY_AT_THE_ROOT))
    return faults


class UserUsageStatus(Status):
    """Past usage of one user of the LocalQueue."""

    name: Annotated[
        str, Field(description="The user that admission recorded; empty: pods without a record.", max_length=256)
    ]
    usage: Annotated[ReportedQuantity, Field(description="The sum at countedUntil, in cores or their equivalent.")]
    consumed: Annotated[
        str, Field(description="The sum, from which a controller that starts continues.", max_length=128)
    ]


class PastUsageStatus(Status):
    """What the LocalQueue has used, forgotten by halves."""

    usage: Annotated[
        ReportedQuantity,
        Field(description="The sum at countedUntil, in cores or their equivalent."),
    ]
    counts: Annotated[str, Field(description="The weights with which it was counted.", max_length=4096)]
    consumed: Annotated[
        str, Field(description="The sum, from which a controller that starts continues.", max_length=128)
    ]
    counted_until: Annotated[
        str, Field(description="The time up to which the sum is complete."), SchemaKeys(format="date-time")
    ]
    users: Annotated[
        tuple[UserUsageStatus, ...] | None,
        Field(description="The users with the highest usage, if usage of users counts.", max_length=64),
        BY_NAME,
    ] = None


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

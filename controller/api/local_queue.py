"""LocalQueue as it is written: a namespace's door to a cluster queue."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StrictStr

from controller.api.base import AGE, Column, Conditions, Count, Definition, Model, Resource, Status, StopPolicy, active
from controller.api.fair_sharing import LocalFairSharing, PastUsageStatus
from controller.api.rules import Rule, SchemaKeys, rules
from controller.api.schedule import BY_NAME
from controller.api.values import ObjectName, ReportedQuantity, ReportedText

# Only the apiserver sees the old object, so this is the one rule that Python does not repeat.
_IMMUTABLE = Rule(
    "self == oldSelf",
    "clusterQueue is immutable; make another LocalQueue",
    "'clusterQueue is immutable: it stays \"' + oldSelf + '\"; make another LocalQueue for \"' + self + '\"'",
)


class LocalQueueSpec(Model):
    """The ClusterQueue of this queue, and how it is used."""

    cluster_queue: Annotated[
        ObjectName,
        Field(description="The name of the ClusterQueue that pods of this queue are charged to. Cannot be changed."),
        SchemaKeys(**rules(_IMMUTABLE)),
    ]
    stop_policy: Annotated[
        StopPolicy,
        Field(
            description="None (default): pods of this queue are admitted. Hold: none is; running pods continue. "
            "HoldAndDrain: as Hold, and admitted pods are evicted if their owner recreates them "
            "without counting a failure."
        ),
    ] = "None"
    fair_sharing: Annotated[
        LocalFairSharing, Field(description="The weight of the queue among those of its ClusterQueue.")
    ] = LocalFairSharing()


class GivenResource(Status):
    """What the ClusterQueue gives of one resource in one flavor."""

    name: Annotated[StrictStr, Field(description="The resource.", max_length=317)]
    quota: Annotated[ReportedQuantity, Field(description="What its pods may request at the moment without borrowing.")]
    used: Annotated[ReportedQuantity, Field(description="What admitted pods of all its LocalQueues request.")]
    free: Annotated[
        ReportedQuantity,
        Field(description="How much more may be admitted, including what it may borrow at the moment."),
    ]


class GivenFlavor(Status):
    """What the ClusterQueue gives of one flavor."""

    name: Annotated[ObjectName, Field(description="The flavor.")]
    resources: Annotated[
        tuple[GivenResource, ...], Field(description="Amounts by resource.", max_length=64), BY_NAME
    ] = ()


class LocalQueueColumns(Status):
    """Text for the columns of kubectl get, rounded."""

    used: Annotated[ReportedText, Field(description="How much of the ClusterQueue's quota is used, by flavor.")] = ""
    free: Annotated[ReportedText, Field(description="How much more the ClusterQueue may admit, by flavor.")] = ""


class QuotaStatus(Status):
    """What the queue's ClusterQueue gives and has free: who may read a namespace alone sees it here."""

    flavors: Annotated[
        tuple[GivenFlavor, ...],
        Field(description="By flavor, in the order in which they are tried.", max_length=64),
        BY_NAME,
    ] = ()
    columns: Annotated[LocalQueueColumns, Field(description="Text for kubectl get.")] = LocalQueueColumns()


class LocalQueueStatus(Status):
    """The observed state of the queue."""

    pending: Annotated[Count, Field(description="Pods of this queue that wait.")] = 0
    reserved: Annotated[Count, Field(description="Pods of this queue that are admitted and not yet on nodes.")] = 0
    running: Annotated[Count, Field(description="Pods of this queue that are on nodes.")] = 0
    fair_sharing: Annotated[
        PastUsageStatus | None, Field(description="Past usage of the queue; absent if it does not affect the order.")
    ] = None
    quota: Annotated[
        QuotaStatus | None,
        Field(
            description="What the ClusterQueue gives to all its LocalQueues together, and what is free; updated "
            "at most every 30 s. Absent if the ClusterQueue does not exist or cannot be used."
        ),
    ] = None
    conditions: Conditions = ()


class LocalQueue(Resource):
    """Gives a namespace access to a ClusterQueue; pods name it by the label penstock.dev/queue-name."""

    definition: ClassVar[Definition] = Definition(
        kind="LocalQueue",
        plural="localqueues",
        short_name="plq",
        namespaced=True,
        columns=(
            Column("ClusterQueue", ".spec.clusterQueue", "string", "The ClusterQueue that pods are charged to"),
            Column("Stop", ".spec.stopPolicy", "string", "Whether the queue is held", priority=1),
            Column("Pending", ".status.pending", "integer", "Pods that wait"),
            Column("Reserved", ".status.reserved", "integer", "Pods admitted and not yet on nodes"),
            Column("Running", ".status.running", "integer", "Pods on nodes"),
            Column(
                "Quota-Used", ".status.quota.columns.used", "string", "How much of the ClusterQueue's quota is used"
            ),
            Column("Free", ".status.quota.columns.free", "string", "How much more the ClusterQueue may admit"),
            active("Whether pods of the queue are admitted"),
            AGE,
        ),
    )

    kind: Literal["LocalQueue"] = "LocalQueue"
    spec: LocalQueueSpec
    status: LocalQueueStatus = LocalQueueStatus()

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
    """Where the namespace's pods queue."""

    cluster_queue: Annotated[
        ObjectName,
        Field(description="The name of the ClusterQueue that pods of this queue are charged to. Cannot be changed."),
        SchemaKeys(**rules(_IMMUTABLE)),
    ]
    stop_policy: Annotated[
        StopPolicy,
        Field(
            description="None (default): pods of this queue are admitted. Hold: none is; what runs goes on. "
            "HoldAndDrain: none is, and what was admitted is evicted where its owner makes it anew at no cost."
        ),
    ] = "None"
    fair_sharing: Annotated[
        LocalFairSharing, Field(description="What the queue counts for among those of its ClusterQueue.")
    ] = LocalFairSharing()


class GivenResource(Status):
    """What the ClusterQueue gives of one resource in one flavor."""

    name: Annotated[StrictStr, Field(description="The resource.", max_length=317)]
    quota: Annotated[ReportedQuantity, Field(description="What its pods may ask for at the moment without borrowing.")]
    used: Annotated[ReportedQuantity, Field(description="What admitted pods of all its LocalQueues ask for.")]
    free: Annotated[
        ReportedQuantity, Field(description="What more may be admitted, what it may borrow at the moment included.")
    ]


class GivenFlavor(Status):
    """What the ClusterQueue gives of one flavor."""

    name: Annotated[ObjectName, Field(description="The flavor.")]
    resources: Annotated[
        tuple[GivenResource, ...], Field(description="Amounts by resource.", max_length=64), BY_NAME
    ] = ()


class LocalQueueColumns(Status):
    """Text for the columns of kubectl get, rounded."""

    used: Annotated[ReportedText, Field(description="What is used of the ClusterQueue's quota, by flavor.")] = ""
    free: Annotated[ReportedText, Field(description="What more the ClusterQueue may admit, by flavor.")] = ""


class QuotaStatus(Status):
    """What the queue's ClusterQueue gives and has free: who may read a namespace alone sees it here."""

    flavors: Annotated[
        tuple[GivenFlavor, ...], Field(description="By flavor, in the order they are tried.", max_length=64), BY_NAME
    ] = ()
    columns: Annotated[LocalQueueColumns, Field(description="Text for kubectl get.")] = LocalQueueColumns()


class LocalQueueStatus(Status):
    """What the queue holds now."""

    pending: Annotated[Count, Field(description="Pods of this queue that wait.")] = 0
    reserved: Annotated[Count, Field(description="Pods of this queue that are admitted and not yet on nodes.")] = 0
    running: Annotated[Count, Field(description="Pods of this queue that are on nodes.")] = 0
    fair_sharing: Annotated[
        PastUsageStatus | None, Field(description="What the queue has used; absent where that orders nothing.")
    ] = None
    quota: Annotated[
        QuotaStatus | None,
        Field(
            description="What the queue's ClusterQueue gives all its LocalQueues, and has free; brought up to date at "
            "most every 30 s. Absent where the ClusterQueue does not exist or cannot be used."
        ),
    ] = None
    conditions: Conditions = ()


class LocalQueue(Resource):
    """A namespace's door to a ClusterQueue; pods name it by the label penstock.dev/queue-name."""

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
            Column("Quota-Used", ".status.quota.columns.used", "string", "What of the ClusterQueue's quota is used"),
            Column("Free", ".status.quota.columns.free", "string", "What more the ClusterQueue may admit"),
            active("Whether pods of the queue are admitted"),
            AGE,
        ),
    )

    kind: Literal["LocalQueue"] = "LocalQueue"
    spec: LocalQueueSpec
    status: LocalQueueStatus = LocalQueueStatus()

"""LocalQueue as it is written: a namespace's door to a cluster queue."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from controller.api.base import AGE, Column, Conditions, Count, Definition, Model, Resource, Status, StopPolicy, active
from controller.api.fair_sharing import LocalFairSharing, PastUsageStatus
from controller.api.rules import Rule, SchemaKeys, rules
from controller.api.values import ObjectName

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


class LocalQueueStatus(Status):
    """What the queue holds now."""

    pending: Annotated[Count, Field(description="Pods of this queue that wait.")] = 0
    reserved: Annotated[Count, Field(description="Pods of this queue that are admitted and not yet on nodes.")] = 0
    running: Annotated[Count, Field(description="Pods of this queue that are on nodes.")] = 0
    fair_sharing: Annotated[
        PastUsageStatus | None, Field(description="What the queue has used; absent where that orders nothing.")
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
            active("Whether pods of the queue are admitted"),
            AGE,
        ),
    )

    kind: Literal["LocalQueue"] = "LocalQueue"
    spec: LocalQueueSpec
    status: LocalQueueStatus = LocalQueueStatus()

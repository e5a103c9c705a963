"""The few fields of pods, cluster queues and Events that the demo looks at, as they are on the wire."""

from __future__ import annotations

from msgspec import Struct, field

from controller.core.keys import CONDITION
from controller.telemetry.events import COMPONENT


class Metadata(Struct):
    """metav1.ObjectMeta."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] | None = None


class Gate(Struct):
    """core/v1 PodSchedulingGate."""

    name: str = ""


class Condition(Struct):
    """core/v1 PodCondition and metav1.Condition."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class PodSpec(Struct, rename="camel"):
    """core/v1 PodSpec."""

    node_name: str = ""
    scheduling_gates: list[Gate] | None = None


class PodStatus(Struct):
    """core/v1 PodStatus."""

    phase: str = ""
    reason: str = ""
    conditions: list[Condition] | None = None


class PodObject(Struct):
    """core/v1 Pod."""

    metadata: Metadata
    spec: PodSpec = field(default_factory=PodSpec)
    status: PodStatus = field(default_factory=PodStatus)

    def why_it_waits(self) -> Condition | None:
        """Return Penstock's condition where it says that the pod waits."""
        ours = (one for one in self.status.conditions or () if one.type == CONDITION and one.status == "False")
        return next(ours, None)


class ResourceUsage(Struct):
    """Usage of one resource in one flavor."""

    name: str
    total: str
    quota: str
    borrowed: str = "0"


class FlavorUsage(Struct):
    """Usage of one flavor."""

    name: str
    resources: list[ResourceUsage] | None = None


class QueueStatus(Struct, rename="camel"):
    """Status of a ClusterQueue, or of any other object that has conditions."""

    flavors_usage: list[FlavorUsage] | None = None
    conditions: list[Condition] | None = None


class QueueObject(Struct):
    """penstock.dev ClusterQueue."""

    metadata: Metadata
    status: QueueStatus = field(default_factory=QueueStatus)


class ObjectReference(Struct):
    """core/v1 ObjectReference."""

    namespace: str = ""
    name: str = ""


class EventObject(Struct, rename="camel"):
    """core/v1 Event."""

    metadata: Metadata
    involved_object: ObjectReference = field(default_factory=ObjectReference)
    message: str = ""
    reporting_component: str = ""

    def is_ours(self) -> bool:
        """Whether Penstock's controller said it."""
        return self.reporting_component == COMPONENT

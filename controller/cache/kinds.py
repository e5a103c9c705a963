"""The kinds that decisions rest on: where each is listed, how it is read, and which sink takes it.

Whoever fills a cache goes by these: the controller by watches, `replay.recording` by one list of each.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from controller.cache import sinks, template_defaults
from controller.cache.cluster import ClusterCache
from controller.cache.held_objects import HeldObjectSink, workload_kind_sink
from controller.cache.written import Written
from controller.core.keys import GROUP, VERSION
from controller.core.workload_kinds.kinds import WorkloadKind
from controller.kube.decode import (
    PodDecoder,
    decode_metadata,
    decode_node,
    decode_priority_class,
    decode_runtime_class,
)
from controller.kube.decode_devices import decode_claim_template, decode_device_class
from controller.kube.decode_jobs import JobDecoder
from controller.kube.decode_owners import decode_pod_group
from controller.kube.decode_workload_objects import WorkloadObjectDecoder
from controller.kube.template_defaults import decode_limit_range
from controller.objects.read import (
    read_cluster_queue,
    read_flavor,
    read_local_queue,
    read_priority_class,
    read_workload_kind,
)

OURS: Final = f"/apis/{GROUP}/{VERSION}"
JOBS: Final = "/apis/batch/v1/jobs"
COMPLETING: Final = (
    "/api/v1/limitranges",
    "/apis/node.k8s.io/v1/runtimeclasses",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
)
"""What completes templates: these are read once all of it is listed."""
PODS: Final = "/api/v1/pods"
"""They come last: a queue or node that came later would move what is known of thousands."""
_POD_GROUP_VERSIONS: Final = ("v1", "v1beta1", "v1alpha3", "v1alpha2")
"""They say the size of a gang alike: `spec.schedulingPolicy.gang.minCount`."""
_DEVICES: Final = "resource.k8s.io"
_DEVICE_VERSIONS: Final = ("v1", "v1beta2")
"""They say alike what a claim requests; v1beta1 says it otherwise."""


class Kind(NamedTuple):
    """Path of the collection, decoder of an object, sink of the decoded ones."""

    path: str
    decode: Any
    sink: Any


class ServedKind(NamedTuple):
    """A kind that some apiservers have, in one of these versions, the best first."""

    group: str
    versions: tuple[str, ...]
    resource: str
    decode: Any
    sink: Any


def where_served(cache: ClusterCache, written: Written) -> tuple[ServedKind, ...]:
    """What decisions rest on where it is served."""
    templates = "resourceclaimtemplates"
    kinds = workload_kind_sink(cache, written)
    return (
        ServedKind(GROUP, (VERSION,), "workloadkinds", read_workload_kind, kinds),
        ServedKind("scheduling.k8s.io", _POD_GROUP_VERSIONS, "podgroups", decode_pod_group, sinks.PodGroupSink(cache)),
        ServedKind(_DEVICES, _DEVICE_VERSIONS, "deviceclasses", decode_device_class, sinks.DeviceClassSink(cache)),
        ServedKind(_DEVICES, _DEVICE_VERSIONS, templates, decode_claim_template, sinks.ClaimTemplateSink(cache)),
    )


def objects_of(kind: WorkloadKind, cache: ClusterCache, decode: PodDecoder) -> ServedKind:
    """The objects of a WorkloadKind, where it is served."""
    sink = HeldObjectSink(cache, kind.name)
    return ServedKind(kind.group, (kind.version,), kind.resource, WorkloadObjectDecoder(kind, decode), sink)


def _completing(cache: ClusterCache, decode: PodDecoder) -> tuple[Kind, ...]:
    """What completes the templates of Jobs and other objects, which are read anew after it has changed."""
    limits, runtimes, priorities = COMPLETING
    defaults = decode.defaults
    return (
        Kind(limits, decode_limit_range, template_defaults.limit_ranges(cache, defaults)),
        Kind(runtimes, decode_runtime_class, template_defaults.runtime_classes(cache, defaults)),
        Kind(priorities, decode_priority_class, template_defaults.priority_classes(cache, defaults)),
    )


def deciding(cache: ClusterCache, written: Written, decode: PodDecoder) -> tuple[Kind, ...]:
    """What decisions rest on beside pods and what `where_served` has; `decode` reads templates, too."""
    return (
        Kind("/api/v1/namespaces", decode_metadata, sinks.NamespaceSink(cache)),
        Kind("/api/v1/nodes", decode_node, sinks.NodeSink(cache)),
        Kind(f"{OURS}/resourceflavors", read_flavor, sinks.flavor_sink(cache, written)),
        Kind(f"{OURS}/clusterqueues", read_cluster_queue, sinks.cluster_queue_sink(cache, written)),
        Kind(f"{OURS}/localqueues", read_local_queue, sinks.local_queue_sink(cache, written)),
        *_completing(cache, decode),
        Kind(JOBS, JobDecoder(decode), sinks.JobSink(cache)),
        Kind(f"{OURS}/workloadpriorityclasses", read_priority_class, sinks.priority_class_sink(cache, written)),
    )

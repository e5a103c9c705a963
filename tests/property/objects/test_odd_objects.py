"""Nothing that a watch brings stops the controller, however odd: it is taken in or told as unreadable."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from controller.cache.cluster import ClusterCache
from controller.cache.kinds import deciding
from controller.cache.sinks import PodGroupSink, PodSink
from controller.cache.written import Written
from controller.core.keys import HELD
from controller.kube.decode import PodDecoder
from controller.kube.decode_owners import decode_pod_group
from controller.kube.errors import UnreadableObject
from controller.runtime.status_lane import StatusLane
from controller.runtime.watches import reported_kinds
from controller.telemetry.metrics import ControllerMetrics
from tests.support import api_objects
from tests.support.builders import decided
from tests.support.fake_client import FakeClient
from tests.support.pod_documents import CREATED, Json, a_container, a_node_document, a_pod_document

NOW: Final = 1_772_355_600.0
_CONDITIONS: Final = [{"type": "Active", "status": "True", "reason": "Ready", "lastTransitionTime": CREATED}]
_META: Final[Json] = {"uid": "u", "resourceVersion": "3", "generation": 2, "annotations": {HELD: "by somebody"}}


def _ours(document: Json, **status: Any) -> Json:
    metadata = {**document["metadata"], **_META, "uid": f"{document['kind']}-uid"}
    return {**document, "metadata": metadata, "status": {"conditions": _CONDITIONS, **status}}


def _budgeted() -> Json:
    queue = api_objects.cluster_queue(
        budgets=[api_objects.a_budget()],
        schedule=[api_objects.a_window()],
        fairSharing={"usageHalfLife": "1h", "usageBy": "LocalQueueAndUser"},
    )
    return _ours(queue)


def _job() -> Json:
    return {
        "metadata": {"name": "train", "namespace": "default", "creationTimestamp": CREATED, **_META},
        "spec": {
            "parallelism": 2,
            "completions": 2,
            "backoffLimit": 3,
            "activeDeadlineSeconds": 60,
            "podFailurePolicy": {
                "rules": [
                    {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}},
                    {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                ]
            },
        },
        "status": {"failed": 1, "startTime": CREATED, "uncountedTerminatedPods": {"failed": ["a"]}},
    }


def _node() -> Json:
    ready = {"type": "Ready", "status": "False", "lastTransitionTime": CREATED}
    return a_node_document(status={"conditions": [ready]})


def _pod() -> Json:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "u", "controller": True}
    term = {"matchExpressions": [api_objects.requirement("In", "spot")]}
    return a_pod_document(
        requests={"cpu": "1"},
        metadata={"ownerReferences": [owner]},
        spec={
            "affinity": api_objects.node_terms(term),
            "tolerations": [{"key": "a", "operator": "Exists"}],
            "initContainers": [a_container("before", cpu="1")],
        },
    )


def _documents() -> dict[str, Json]:
    return {
        "namespaces": {"metadata": {"name": "default", "labels": {"team": "a"}}},
        "nodes": _node(),
        "resourceflavors": _ours(api_objects.resource_flavor(nodeLabels={"pool": "spot"}), dryUntil=CREATED),
        "clusterqueues": _budgeted(),
        "localqueues": _ours(api_objects.local_queue()),
        "jobs": _job(),
        "podgroups": {
            "metadata": {"name": "gang", "namespace": "default"},
            "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
        },
        "workloadpriorityclasses": _ours(api_objects.priority_class()),
        "pods": _pod(),
        "clusterpodschedulingpolicies": _ours(api_objects.cluster_pod_policy(nodeSelector={"a": "b"})),
        "podschedulingpolicies": _ours(api_objects.pod_policy(nodeSelector={"a": "b"})),
        "schedulingpolicies": _ours(api_objects.scheduling_policy(default={"nodeSelector": {"a": "b"}})),
    }


class Writer(FakeClient):
    """Takes whatever is written, and keeps the statuses by plural."""

    def __init__(self) -> None:
        super().__init__()
        self.statuses: dict[str, Json] = {}

    async def patch(self, path: str, body: Any, **_: Any) -> bytes:
        self.statuses[path.split("/")[-3]] = body["status"]
        return b"{}"

    async def post(self, *_: Any, **__: Any) -> bytes:
        return b"{}"


class World:
    """A controller's cache as its watches fill it, with one valid object of each kind."""

    def __init__(self, documents: dict[str, Json]) -> None:
        self.writer = Writer()
        self.cache, self.written = ClusterCache(lambda: None), Written()
        watched = (*deciding(self.cache, self.written, PodDecoder()), *reported_kinds(self.cache, self.written))
        self.watched = {path.rsplit("/", 1)[-1]: (read, sink) for path, read, sink in watched}
        self.watched["podgroups"] = decode_pod_group, PodGroupSink(self.cache)
        self.watched["pods"] = PodDecoder(), PodSink(self.cache)
        for kind, document in documents.items():
            assert self.took(kind, document), kind

    def took(self, kind: str, document: Any) -> bool:
        read, sink = self.watched[kind]
        try:
            item = read(Raw(json.dumps(document).encode()))
        except UnreadableObject:
            return False
        sink.upsert(item)
        return True

    def goes_on(self, seconds: float = 0.0) -> None:
        self.cache.advance(NOW + seconds)
        decided(self.cache)
        # another lane each time, which has written nothing in the last two seconds
        lane = StatusLane(self.writer.as_client, self.cache, self.written, ControllerMetrics(), instance="it")
        asyncio.run(lane.round(NOW + seconds))


def _with_what_is_reported() -> dict[str, Json]:
    documents = _documents()
    world = World(documents)
    world.goes_on()
    for kind, status in world.writer.statuses.items():
        documents[kind]["status"] = status
    assert documents["clusterqueues"]["status"]["budgets"]
    assert documents["localqueues"]["status"]["fairSharing"]
    return documents


DOCUMENTS: Final = _with_what_is_reported()


def _places(value: object, *path: str | int) -> Iterator[tuple[str | int, ...]]:
    yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield from _places(inner, *path, key)


PLACES: Final = [(kind, path) for kind, one in DOCUMENTS.items() for path in _places(one)]
GONE: Final = object()
TIMES: Final = ("0001-01-01T00:00:00", "10000-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59")
TEXTS: Final = ("", "x", "9" * 30, "\ud800", *TIMES)
NUMBERS: Final = (0, -1, 10**20, 0.5)
ODD: Final[tuple[Any, ...]] = (GONE, None, True, *NUMBERS, *TEXTS, [], [None], [1], ["x"], [[]], [{}], {}, {"x": 1})


def _with(document: Json, path: tuple[str | int, ...], value: object) -> Any:
    if not path:
        return {} if value is GONE else value
    changed = deepcopy(document)
    inner: Any = changed
    for step in path[:-1]:
        inner = inner[step]
    if value is GONE:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return changed


@settings(max_examples=200)
@given(st.sampled_from(PLACES), st.sampled_from(ODD), st.booleans())
def test_an_odd_object_is_taken_in_or_told_as_unreadable(
    place: tuple[str, tuple[str | int, ...]], odd: object, is_first: bool
) -> None:
    kind, path = place
    document = _with(DOCUMENTS[kind], path, odd)
    world = World({name: one for name, one in DOCUMENTS.items() if not is_first or name != kind})
    world.took(kind, document)
    world.goes_on(20.0)
    # and once it is mended it is read
    assert world.took(kind, DOCUMENTS[kind])
    world.goes_on(40.0)

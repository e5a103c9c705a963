"""Who tries to run without quota, and what is tried on pods: attempts as data.

The adversary has the rights of the table's editor, and more than most have: pods/status, pods/resize, pods/binding and
pods/ephemeralcontainers too. Nothing here is a dry run: the controller and the scheduler see what comes of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from controller.core.keys import CLUSTER_QUEUE, FLAVOR, FLAVORS, GATE, QUEUE_NAME
from controller.kube.client import APPLY_PATCH, MERGE_PATCH, STRATEGIC_PATCH
from tests.integration.protection.people import a_binding, a_pod
from tests.integration.protection.table import DAEMON, MIRROR, ON_NODE, OPENED, OURS, QUEUED_LABELS
from tests.support.impersonation import Identity, Impersonation, Reply
from tests.support.team import OURS as OURS_PATH
from tests.support.team import Team

Json = dict[str, Any]


class Adversary:
    """An editor of the team's namespace."""

    def __init__(self, apiserver: Impersonation, team: Team) -> None:
        self._apiserver = apiserver
        self._pods = team.pods_path
        self._queues = f"{OURS_PATH}/namespaces/{team.namespace}/localqueues"
        self._identity = Identity.of_account(team.namespace, "editor")

    async def create(self, name: str, metadata: Json, spec: Json) -> Reply:
        """Create a pod that asks for 1 cpu unless its spec says otherwise."""
        return await self._apiserver.send(self._identity, "POST", self._pods, a_pod(name, metadata, spec))

    async def apply(self, name: str, metadata: Json, spec: Json) -> Reply:
        """Create a pod by server-side apply."""
        path, who = f"{self._pods}/{name}", {"fieldManager": "adversary"}
        body = a_pod(name, metadata, spec)
        return await self._apiserver.send(self._identity, "PATCH", path, body, content_type=APPLY_PATCH, params=who)

    async def change(self, name: str, patch: Json, subresource: str = "") -> Reply:
        """Patch a pod, through a subresource if one is named; a binding is created with `patch` in its metadata."""
        path = f"{self._pods}/{name}" + (f"/{subresource}" if subresource else "")
        if subresource == "binding":
            return await self._apiserver.send(self._identity, "POST", path, a_binding(name, patch))
        return await self._apiserver.send(self._identity, "PATCH", path, patch, content_type=STRATEGIC_PATCH)

    async def delete(self, name: str, grace_seconds: int) -> Reply:
        """Delete a pod."""
        return await self._apiserver.send(
            self._identity, "DELETE", f"{self._pods}/{name}", {"gracePeriodSeconds": grace_seconds}
        )

    async def edit_queue(self, method: str, name: str, body: Json) -> Reply:
        """Change or delete a LocalQueue of the namespace: ClusterRole `edit` may."""
        return await self._apiserver.send(
            self._identity,
            method,
            f"{self._queues}/{name}",
            body,
            content_type=MERGE_PATCH if method == "PATCH" else "application/json",
        )


@dataclass(frozen=True, slots=True)
class Change:
    """Something done to a pod that is there, and the code and words of the refusal."""

    name: str
    patch: Json
    subresource: str
    code: int
    words: str


@dataclass(frozen=True, slots=True)
class Birth:
    """A pod created, and what it comes to: the code and words of the refusal, or the reason for which it waits."""

    name: str
    metadata: Json = field(default_factory=lambda: QUEUED_LABELS)
    spec: Json = field(default_factory=dict)
    code: int = 201
    words: str = ""
    reason: str = ""


def labels(**values: str | None) -> Json:
    """Metadata with some of our labels: queue, cluster_queue, flavor."""
    keys = {"queue": QUEUE_NAME, "cluster_queue": CLUSTER_QUEUE, "flavor": FLAVOR}
    return {"labels": {keys[name]: value for name, value in values.items()}}


def asking(requests: Json, **more: Any) -> Json:
    """Spec of a pod whose container asks for this."""
    return {"containers": [{"name": "main", "image": "none", "resources": {"requests": requests, **more}}]}


def debugging(**more: Any) -> Json:
    """What `kubectl debug` adds."""
    return {"spec": {"ephemeralContainers": [{"name": "debug", "image": "none", **more}]}}


_STAMPED = labels(cluster_queue="free", flavor="free")
_CLAIM = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]}
_INVALID = "is invalid"
_KEYS = "keys-are-ours: "

ON_ANY = (
    Change("its queue is changed", {"metadata": labels(queue="other")}, "", 403, _KEYS),
    Change("it leaves its queue", {"metadata": labels(queue=None)}, "", 403, _KEYS),
    Change("it leaves its queue by its status", {"metadata": labels(queue=None)}, "status", 403, _KEYS),
    Change("it is stamped", {"metadata": _STAMPED}, "", 403, _KEYS),
    Change("it is stamped by its status", {"metadata": _STAMPED}, "status", 403, _KEYS),
    Change("a set of flavors is forged", {"metadata": {"annotations": {FLAVORS: "a"}}}, "", 403, _KEYS),
    Change("why it waits is rewritten", {"status": {"conditions": [OURS]}}, "status", 403, "condition-is-ours: "),
    Change("a binding moves it to another queue", labels(queue="other"), "binding", 403, "binding-keys: "),
    Change("a binding stamps it", _STAMPED, "binding", 403, "binding-keys: "),
    Change("a binding puts it on a node", {}, "binding", 409, ""),
    Change("it grows", {"spec": asking({"cpu": "5"})}, "resize", 403, "no-growth: "),
    Change("it asks for memory too", {"spec": asking({"memory": "1Gi"})}, "resize", 403, "no-growth: "),
    Change("it asks for less than nothing", {"spec": asking({"cpu": "-1"})}, "resize", 422, _INVALID),
    Change("it grows otherwise", {"spec": asking({"cpu": "5"})}, "", 422, _INVALID),
    Change("it shrinks otherwise", {"spec": asking({"cpu": "1m"})}, "", 422, _INVALID),
    Change("its priority is raised", {"spec": {"priority": 1000}}, "", 422, _INVALID),
    Change("its class is changed", {"spec": {"priorityClassName": "system-node-critical"}}, "", 422, _INVALID),
    Change("it names a node", {"spec": {"nodeName": "another"}}, "", 422, _INVALID),
    Change("it claims a device", {"spec": _CLAIM}, "", 422, _INVALID),
    Change("a container is added", {"spec": {"containers": [{"name": "b", "image": "none"}]}}, "", 422, _INVALID),
    Change(
        "a container to debug it asks for cpu",
        debugging(resources={"requests": {"cpu": "1"}}),
        "ephemeralcontainers",
        422,
        _INVALID,
    ),
)
ON_WAITING = (
    *ON_ANY,
    Change("it grows out of bounds", {"spec": asking({"cpu": "9e18"})}, "resize", 403, "no-growth: "),
    Change("its gate is removed", OPENED, "", 403, "gate-is-ours: "),
    Change("all gates are removed", {"spec": {"schedulingGates": None}}, "", 403, "gate-is-ours: "),
)

_MOST = str(2**63 - 1)
_LONG = "A" + "-._9z" * 12 + "Z9"
BIRTHS = (
    Birth("named-node", spec=ON_NODE, code=403, words="gate-required: spec.nodeName"),
    Birth("static", {**QUEUED_LABELS, **MIRROR}, ON_NODE, 403, "gate-required: spec.nodeName"),
    Birth("static-by-annotation-only", {**QUEUED_LABELS, **MIRROR}, code=422, words="must set spec.nodeName"),
    Birth("stamped-without-queue", _STAMPED, code=403, words="stamps-are-ours: "),
    Birth("gated-without-queue", {}, {"schedulingGates": [{"name": GATE}]}, 403, "gate-needs-queue: "),
    Birth("negative", spec=asking({"cpu": "-1"}), code=422, words=_INVALID),
    Birth("annotated-beyond-bounds", {**QUEUED_LABELS, "annotations": {"a": "x" * 10_000_000}}, code=413),
    Birth("annotated-too-much", {**QUEUED_LABELS, "annotations": {"a": "x" * 300_000}}, code=422, words=_INVALID),
    Birth("queue-of-two-lines", labels(queue='a"}\n'), code=422, words=_INVALID),
    Birth("queue-of-a-namespace", labels(queue="kube-system/main"), code=422, words=_INVALID),
    Birth("queue-of-no-name", labels(queue=""), reason="QueueNotFound"),
    Birth("queue-of-an-odd-name", labels(queue=_LONG), reason="QueueNotFound"),
    Birth("queue-of-another-namespace", labels(queue="theirs"), reason="QueueNotFound"),
    Birth("queue-to-another-namespace", labels(queue="to-theirs"), reason="NamespaceNotSelected"),
    Birth("owned-by-a-daemon-set", {**QUEUED_LABELS, **DAEMON}),
    Birth("claiming-devices", spec=_CLAIM, reason="UnsupportedResourceClaims"),
    Birth("devices-of-a-class", spec=asking({"deviceclass.resource.kubernetes.io/gpu": "1"}), reason="NeverFits"),
    Birth("unlisted-devices", spec=asking({}, limits={"example.com/gpu": "1"}), reason="NeverFits"),
    Birth("huge", spec=asking({"cpu": _MOST}), reason="NeverFits"),
    Birth(
        "twice-huge",
        spec={"containers": [{**asking({"cpu": _MOST})["containers"][0], "name": name} for name in ("a", "b")]},
        reason="NeverFits",
    ),
    Birth("more-than-huge", spec=asking({"cpu": "1e30"}), reason="InvalidRequests"),
    Birth(
        "annotated-much",
        {**QUEUED_LABELS, "annotations": {"a": "x" * 250_000}},
        asking({"cpu": "9"}),
        reason="NeverFits",
    ),
    Birth(
        "thousand-gates",
        spec={"schedulingGates": [{"name": f"example.com/gate-{number}"} for number in range(1000)]},
        reason="ForeignGate",
    ),
)

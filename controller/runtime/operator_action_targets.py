"""What people name on the command line, `pod/x` or `queue/y`, and the objects that it stands for. Writes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from controller.core.keys import GROUP, POD_GROUP, VERSION
from controller.core.kubernetes.names import (
    DNS_SUBDOMAIN_FORM,
    LABEL_VALUE_FORM,
    is_dns_subdomain,
    is_label_value,
)
from controller.kube.client import Client
from controller.kube.decode_operator_actions import Handled, decode_handled
from controller.kube.errors import KubeError, NotFound
from controller.kube.listing import pages
from controller.runtime.named_kinds import path_of

_OURS: Final = f"/apis/{GROUP}/{VERSION}"
_SHORT: Final = {
    "po": "pod",
    "sts": "statefulset",
    "rs": "replicaset",
    "rc": "replicationcontroller",
    "deploy": "deployment",
    "ds": "daemonset",
    "cj": "cronjob",
    **dict.fromkeys(("plq", "lq"), "localqueue"),
    **dict.fromkeys(("pcq", "cq"), "clusterqueue"),
}
_SINGULAR: Final = {f"{kind}s": kind for kind in (*_SHORT.values(), "job")}
_READ: Final = {
    **dict.fromkeys(("localqueue", f"localqueue.{GROUP}"), "queue"),
    f"clusterqueue.{GROUP}": "clusterqueue",
    "job.batch": "job",
}
"""What stands for an object of its own; of any other kind and API group it is the pods that somebody controls."""

_BETWEEN: Final = {
    **dict.fromkeys(
        ("deployment", "deployment.apps"), "the pods of a Deployment are its ReplicaSets': name these, replicaset/NAME"
    ),
    **dict.fromkeys(("cronjob", "cronjob.batch"), "the pods of a CronJob are its Jobs': name these, job/NAME"),
}
_UNSERVED: Final = "404 page not found"
"""What an apiserver answers about paths of an API group that it does not serve."""

QUEUES: Final = ("queue", "clusterqueue")
FORMS: Final = (
    "pod/NAME, group/NAME, job/NAME, queue/NAME (a LocalQueue), clusterqueue/NAME, or an owner, as statefulset/NAME"
)


class BadTarget(ValueError):
    """What was named cannot be meant; the text says what to write."""


class NothingThere(KubeError):
    """What was named is not there, or nothing of it waits."""


@dataclass(frozen=True, slots=True)
class Target:
    """A kind, in the singular and in lower case, and a name. An owner's kind has its API group where that was said."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"

    @classmethod
    def read(cls, text: str) -> Target:
        """Read `kind/name`, or what `kubectl get -o name` prints: `kind.group/name`. Raises BadTarget."""
        said, _, name = text.partition("/")
        kind, dot, api_group = said.lower().partition(".")
        if not name or "/" in name or not kind.isalpha() or (dot and not is_dns_subdomain(api_group)):
            raise BadTarget(f"{text!r}: write {FORMS}")
        is_group = kind == "group"
        if not (is_dns_subdomain(name) or (is_group and is_label_value(name))):
            form = LABEL_VALUE_FORM.removeprefix("empty, or ") if is_group else DNS_SUBDOMAIN_FORM
            raise BadTarget(f"{text!r}: {name!r} is no name of a {said.lower()}: {form}")
        kind = _SHORT.get(kind, _SINGULAR.get(kind, kind)) + dot + api_group
        kind = _READ.get(kind, kind)
        return cls(kind, name)


@dataclass(frozen=True, slots=True)
class Subject:
    """One object that something is done to: where it is, what people call it, and as it was when it was read."""

    path: str
    label: str
    found: Handled


async def find(client: Client, target: Target, namespace: str) -> list[Subject]:
    """Return what the target stands for. Raises NothingThere, and KubeError where it may not be read."""
    within = f"namespaces/{quote(namespace, safe='')}"
    match target.kind:
        case "pod":
            pod = await _one(client, target, f"/api/v1/{within}/pods/{target.name}", namespace)
            if not pod.found.is_queued:
                raise NothingThere(f"{pod.label} does not wait at Penstock's gate")
            return [pod]
        case "job":
            return [await _one(client, target, f"/apis/batch/v1/{within}/jobs/{target.name}", namespace)]
        case "queue":
            return [await _one(client, target, f"{_OURS}/{within}/localqueues/{target.name}", namespace)]
        case "clusterqueue":
            return [await _one(client, target, f"{_OURS}/clusterqueues/{target.name}")]
        case "group":
            what = f"pod of the group {target.name}"
            params = {"labelSelector": f"{POD_GROUP}={target.name}"}
            return await _waiting(client, f"/api/v1/{within}/pods", what, namespace, params)
        case kind:
            is_plain = kind.partition(".")[0] in _SHORT.values()
            path = None if is_plain else await path_of(client, kind, namespace, target.name)
            if path is not None:
                return [await _one(client, target, path, namespace)]
            what = f"pod that a {kind} {target.name} controls"
            hint = f": {_BETWEEN[kind]}" if kind in _BETWEEN else ""
            return await _waiting(client, f"/api/v1/{within}/pods", what, namespace, is_meant=_owned(target), hint=hint)


def _owned(target: Target) -> Callable[[Handled], bool]:
    def is_meant(pod: Handled) -> bool:
        if pod.owner is None:
            return False
        kind, api_group = pod.owner.kind.lower(), pod.owner.api_version.rpartition("/")[0]
        return pod.owner.name == target.name and target.kind in (kind, f"{kind}.{api_group}")

    return is_meant


async def _one(client: Client, target: Target, path: str, namespace: str = "") -> Subject:
    try:
        found = decode_handled(await client.get(path))
    except NotFound as error:
        raise _absent(target, path, namespace, error) from None
    where = f"{found.namespace}/" if found.namespace else ""
    return Subject(path, f"{target.kind} {where}{found.name}", found)


def _absent(target: Target, path: str, namespace: str, error: NotFound) -> NothingThere:
    plural = path.split("/")[-2] + (f".{GROUP}" if target.kind in QUEUES else "")
    if _UNSERVED in error.message:
        return NothingThere(f"{target}: the cluster does not serve {plural}: install Penstock's CRDs (config/crd)")
    within, option = (f" in namespace {namespace}", f" -n {namespace}") if namespace else ("", "")
    return NothingThere(f"{target} does not exist{within}; kubectl get {plural}{option} lists those that do")


async def _waiting(
    client: Client,
    path: str,
    what: str,
    namespace: str,
    params: dict[str, str] | None = None,
    *,
    is_meant: Callable[[Handled], bool] = lambda _: True,
    hint: str = "",
) -> list[Subject]:
    pods = [decode_handled(raw) async for page in pages(client, path, params) for raw in page.items or ()]
    waiting = sorted((pod for pod in pods if pod.is_queued and is_meant(pod)), key=lambda pod: pod.name)
    if not waiting:
        raise NothingThere(f"no {what} waits at Penstock's gate in namespace {namespace}{hint}")
    return [Subject(f"{path}/{pod.name}", f"pod {namespace}/{pod.name}", pod) for pod in waiting]


async def again(client: Client, subject: Subject) -> Subject | None:
    """Read the object anew; None when it is gone, or another has its name by now."""
    try:
        found = decode_handled(await client.get(subject.path))
    except NotFound:
        return None
    return Subject(subject.path, subject.label, found) if found.uid == subject.found.uid else None

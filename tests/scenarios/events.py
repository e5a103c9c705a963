"""What happens in a step: each event of the model, done to the cluster. Knows short forms, groups and defaults."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from controller.kube.clock import epoch, rfc3339
from controller.objects.quota_resources import QuotaResourcesError, parsed
from tests.scenarios import forms
from tests.scenarios.model import START, Form, Forms, Json, ScenarioError, attribute
from tests.scenarios.world import Cluster

_DURATION = re.compile(r"\+(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")
_SECONDS = (86400, 3600, 60, 1)
_RANGE = re.compile(r"(.+)-(\d+)\.\.(\d+)")
_UIDS = 1_000_000
_GRACE_SECONDS = 30
"""Of a pod that does not say, as the apiserver fills it in."""
_KINDS: dict[str, tuple[str, Callable[[str, Form], Json]]] = {
    "flavors": ("ResourceFlavor", forms.flavor_document),
    "priorityClasses": ("WorkloadPriorityClass", forms.priority_class_document),
    "clusterQueues": ("ClusterQueue", forms.cluster_queue_document),
    "localQueues": ("LocalQueue", forms.local_queue_document),
}


class Stage:
    """A cluster and the short forms behind it, so that a step can say just what changes."""

    def __init__(self) -> None:
        self.cluster = Cluster(epoch(START))
        self.groups: dict[str, list[str]] = {}
        self.faults: dict[str, str] = {}
        self._forms: dict[tuple[str, str], Form] = {}
        self._made = 0

    def _quota_resources(self, document: Form) -> None:
        try:
            self.cluster.count_by(parsed(document, "quotaResources").meaning)
        except QuotaResourcesError as error:
            raise ScenarioError(str(error)) from None

    def happen(self, event: str, value: Any) -> None:
        """Do one event of the model, by its key."""
        if event in _KINDS:
            self._change_objects(event, value)
        else:
            getattr(self, f"_{attribute(event)}")(value)

    def names(self, listed: Iterable[str]) -> list[str]:
        """The pods that are there of those that names, groups (`train`) and ranges (`train-2..5`) stand for."""
        found = []
        for given in listed:
            there = [name for name in self.meant(given) if name in self.cluster.pods]
            if not there and given not in self.groups:
                raise ScenarioError(f"{given}: no pod and no group of that name is there")
            found += there
        return found

    def meant(self, given: str) -> list[str]:
        """The names that a name, a group or a range stands for, whether such pods are there or not."""
        ranged = _RANGE.fullmatch(given)
        if ranged is not None and given not in self.cluster.pods:
            return [f"{ranged[1]}-{number}" for number in range(int(ranged[2]), int(ranged[3]) + 1)]
        return self.groups[given] if given in self.groups and given not in self.cluster.pods else [given]

    # -- time and objects ------------------------------------------------------------------------------------------

    def _time(self, value: Any) -> None:
        """Let time pass (`+10m`), or come to a time of the calendar."""
        match = _DURATION.fullmatch(value) if isinstance(value, str) else None
        if match is not None and any(match.groups()):
            later = self.cluster.now + sum(int(n or 0) * size for n, size in zip(match.groups(), _SECONDS, strict=True))
        else:
            later = _moment(value)
        # the time of a world comes before its objects, and may be before the usual one
        if later < self.cluster.now and self.cluster.objects:
            raise ScenarioError(f"time: {value!r}: it is {rfc3339(self.cluster.now)} already")
        self.cluster.now = later

    def _namespaces(self, value: dict[str, dict[str, str] | None]) -> None:
        for name, labels in value.items():
            self.cluster.put_namespace(name, labels)

    def _change_objects(self, event: str, value: dict[str, Any]) -> None:
        kind, document = _KINDS[event]
        for key, change in value.items():
            if event == "localQueues":
                key = key if "/" in key else f"default/{key}"
                change = {"clusterQueue": change} if isinstance(change, str) else change
            if change is None:
                self._known(kind, key)
                self.cluster.drop_object(kind, key)
                del self._forms[kind, key]
                continue
            form = self._forms[kind, key] = forms.merged(self._forms.get((kind, key), {}), change)
            fault = self.cluster.put_object(kind, key, document(key, form))
            if fault is not None:
                self.faults[f"{kind}/{key}"] = fault

    def _known(self, kind: str, key: str) -> Form:
        if (kind, key) not in self._forms:
            raise ScenarioError(f"{kind} {key}: is not there")
        return self._forms[kind, key]

    # -- nodes -----------------------------------------------------------------------------------------------------

    def _nodes(self, value: Forms) -> None:
        for given, change in value.items():
            if change is None:
                self._known("Node", given)
                self.cluster.drop_node(given)
                del self._forms["Node", given]
                continue
            for name, form in _each(given, change):
                self._put_node(name, forms.merged(self._forms.get(("Node", name), {}), form))

    def _put_node(self, name: str, form: Form) -> None:
        self._forms["Node", name] = form
        self.cluster.put_node(name, forms.node_document(name, form))

    def _mark_nodes(self, names: list[str], **fields: bool) -> None:
        for name in names:
            self._put_node(name, {**self._known("Node", name), **fields})

    def _cordon(self, names: list[str]) -> None:
        self._mark_nodes(names, cordoned=True)

    def _uncordon(self, names: list[str]) -> None:
        self._mark_nodes(names, cordoned=False)

    def _not_ready(self, names: list[str]) -> None:
        self._mark_nodes(names, ready=False)

    def _ready(self, names: list[str]) -> None:
        self._mark_nodes(names, ready=True)

    def _jobs(self, value: Forms) -> None:
        """Jobs, each as old as the clock says unless `created` does; their pods are made apart."""
        for given, change in value.items():
            key = given if "/" in given else f"default/{given}"
            if change is None:
                self._known("Job", key)
                self.cluster.put_job(key, None)
                del self._forms["Job", key]
                continue
            form = forms.merged(self._forms.get(("Job", key), {"created": rfc3339(self.cluster.now)}), change)
            self._forms["Job", key] = form
            document = forms.job_document(key, form)
            document["metadata"]["creationTimestamp"] = rfc3339(_moment(form["created"]))
            self.cluster.put_job(key, document)

    def _pod_groups(self, value: dict[str, int | None]) -> None:
        """PodGroups of Kubernetes by their minCount; 0 is the basic policy."""
        for given, count in value.items():
            key = given if "/" in given else f"default/{given}"
            self.cluster.put_pod_group(key, None if count is None else forms.pod_group_document(key, count))

    # -- pods ------------------------------------------------------------------------------------------------------

    def _create(self, value: dict[str, Form]) -> None:
        for given, written in value.items():
            made = _each(given, written)
            self.groups[given] = [name for name, _ in made]
            for name, form in made:
                self._put_pod(name, form, is_foreign=False)

    def _foreign(self, value: dict[str, Form]) -> None:
        """Pods of others, that no queue knows: on a node, or on none yet."""
        for given, written in value.items():
            made = _each(given, written)
            self.groups[given] = [name for name, _ in made]
            for name, form in made:
                self._put_pod(name, {"queue": None, **form}, is_foreign=True)

    def _put_pod(self, name: str, form: Form, *, is_foreign: bool) -> None:
        """Make a pod; each is a second younger than the one before, unless `created` says when."""
        if name in self.cluster.pods:
            raise ScenarioError(f"{name}: is there already; edit it, or choose another name")
        self._made += 1
        self._forms["Pod", name] = form
        namespace = form.get("namespace", "default")
        if "created" in form:
            created = _moment(form["created"])
        else:
            created = self.cluster.now
            self.cluster.now += 1
        document = self._pod_document(name, namespace, form, is_foreign=is_foreign)
        # later pods have lower ones, so that no rule can lean on uids by accident
        metadata = {"uid": f"{_UIDS - self._made}", "creationTimestamp": rfc3339(created), **document["metadata"]}
        phase = "Running" if document["spec"].get("nodeName") else "Pending"
        self.cluster.put_pod({**document, "metadata": metadata, "status": {"phase": phase}})

    def _pod_document(self, name: str, namespace: str, form: Form, *, is_foreign: bool) -> Json:
        form = {key: value for key, value in form.items() if key not in ("namespace", "created")}
        if "queue" not in form:
            form["queue"] = self._only_queue(name, namespace)
        return forms.pod_document(name, namespace, form, is_foreign=is_foreign)

    def _only_queue(self, pod: str, namespace: str) -> str:
        own = [key for kind, key in self._forms if kind == "LocalQueue" and key.startswith(f"{namespace}/")]
        if len(own) != 1:
            raise ScenarioError(f"{pod}: namespace {namespace} has {len(own)} local queues; say which: queue: name")
        return own[0].partition("/")[2]

    def _edit(self, value: dict[str, Form]) -> None:
        """Change queued pods: the fields given, null taking one away."""
        for given, change in value.items():
            for name in self.names([given]):
                if not self.cluster.is_queued(name):
                    raise ScenarioError(f"{name}: is not queued; Kubernetes lets nobody change its demands now")
                form = self._forms["Pod", name] = forms.merged(self._forms["Pod", name], change)
                document = self._pod_document(name, form.get("namespace", "default"), form, is_foreign=False)
                self.cluster.change_pod(name, metadata={"annotations": {}, **document["metadata"]})
                self.cluster.put_pod({**self.cluster.pods[name], "spec": document["spec"]})

    def _end(self, names: list[str]) -> None:
        ended = {"state": {"terminated": {"finishedAt": rfc3339(self.cluster.now)}}}
        for name in self.names(names):
            self.cluster.change_pod(name, status={"phase": "Succeeded", "containerStatuses": [ended]})

    def _terminate(self, names: list[str]) -> None:
        """Somebody deletes them; they are gone only when a later step deletes them.

        The time on the pod is that of the request and the grace period, as the apiserver writes it.
        """
        for name in self.names(names):
            spec = self.cluster.pods[name]["spec"]
            grace = spec.get("terminationGracePeriodSeconds", _GRACE_SECONDS) if spec.get("nodeName") else 0
            at = rfc3339(self.cluster.now + grace)
            self.cluster.change_pod(name, metadata={"deletionTimestamp": at, "deletionGracePeriodSeconds": grace})

    def _delete(self, names: list[str]) -> None:
        for name in self.names(names):
            self.cluster.drop_pod(name)

    def _open_gate(self, names: list[str]) -> None:
        """Somebody who is not Penstock removes our gate."""
        for name in self.names(names):
            self.cluster.change_pod(name, spec={"schedulingGates": []})

    def _bind(self, value: dict[str, str]) -> None:
        """kube-scheduler puts pods onto nodes, where kubelets take them up at once."""
        status = {"phase": "Running", "startTime": rfc3339(self.cluster.now)}
        for given, node in value.items():
            self._known("Node", node)
            for name in self.names([given]):
                if self.cluster.pods[name]["spec"].get("schedulingGates"):
                    raise ScenarioError(f"{name}: has gates; no scheduler binds it")
                self.cluster.change_pod(name, spec={"nodeName": node}, status=status)

    def _unschedulable(self, value: dict[str, str]) -> None:
        """kube-scheduler finds no node for released pods, and says why."""
        for given, message in value.items():
            condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
            for name in self.names([given]):
                self.cluster.change_pod(name, status={"conditions": [condition]})

    def _refuse(self, value: dict[str, str]) -> None:
        """The apiserver answers the release of these with an error, from now on."""
        for given, text in value.items():
            self.cluster.refused.update(dict.fromkeys(self.meant(given), text))

    def _accept(self, names: list[str]) -> None:
        for given in names:
            for name in self.meant(given):
                if self.cluster.refused.pop(name, None) is None:
                    raise ScenarioError(f"{name}: is not refused")

    def _restart(self, _: bool) -> None:
        self.cluster.restart()


def _each(given: str, form: Form) -> list[tuple[str, Form]]:
    names, one = forms.members(given, form)
    return [(name, one) for name in names]


def _moment(value: Any) -> float:
    """Read a time; YAML has made one of it already unless it stands in quotes."""
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    try:
        return epoch(value)
    except (ValueError, TypeError):
        raise ScenarioError(f"time: {value!r}: write +10m, +1h30m, or 2026-03-02T18:00:00Z") from None

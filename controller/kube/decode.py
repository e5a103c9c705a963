"""Bytes from the apiserver to core types. The one place that knows both shapes; parse here, once.

Pods come by the thousand and differ in little, so what repeats is remembered by its raw bytes: a pod of a known make
costs one shallow decode and two look-ups.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from msgspec import DecodeError, Raw
from msgspec.json import Decoder

from controller.core.forecasts.runtimes import stated
from controller.core.gate.narrowing_patch import PIN_WEIGHT
from controller.core.gate.opening import GatedPod
from controller.core.keys import (
    CONDITION,
    EXPECTED_RUNTIME,
    GATE,
    HELD,
    ON_TOP,
    PLANNED_NODE,
    POLICIES,
    PRIORITY_CLASS,
    QUEUE_NAME,
    SCHEDULING_POLICY_ENTRY,
    USER,
)
from controller.core.kubernetes.amounts import QuantityError, supply_amount
from controller.core.kubernetes.demand import ContainerDemand, Reported, pod_demand
from controller.core.kubernetes.devices import PodClaim
from controller.core.kubernetes.nodes import Node
from controller.core.kubernetes.priority_classes import PriorityClass
from controller.core.kubernetes.quota_resources import AS_REQUESTED, QuotaResources
from controller.core.kubernetes.runtime_classes import RuntimeClass
from controller.core.kubernetes.taints import Taint, Toleration
from controller.core.queueing.scheduler_preemption import preempting_class
from controller.core.reasons import Reason, has_begun
from controller.core.workloads.pods import UNCOUNTED_CLAIMS, Pod, PublishedCondition, SpecPresence
from controller.core.workloads.shapes import Constraints, Shape
from controller.core.workloads.workload import Hold
from controller.kube import wire
from controller.kube.clock import epoch
from controller.kube.decode_owners import Kin, completion_index
from controller.kube.decode_placement import read_toleration, required_terms
from controller.kube.decode_reserved import stamps, unscheduled
from controller.kube.decode_runs import ENDED, deletion, ended, started
from controller.kube.errors import UnreadableObject
from controller.kube.template_defaults import TemplateDefaults

_REMEMBERED = 10_000
_LONGEST_KEY = 4096
"""Longer makes are decoded every time: users must not fill our memory with what nobody makes twice."""
_NO_NOTES: dict[str, str] = {}

_pod = Decoder(wire.PodObject)
_gates = Decoder(wire.GatesObject)
_node = Decoder(wire.NodeObject)
_runtime_class = Decoder(wire.RuntimeClassObject)
_priority_class = Decoder(wire.PriorityClassObject)
_metadata = Decoder(wire.Metadata)
_affinity = Decoder(wire.Affinity)
_tolerations = Decoder(list[wire.PodToleration] | None)
_resources = Decoder(wire.Resources | None)
_quantities = Decoder(dict[str, str | int] | None)
_selector = Decoder(dict[str, str] | None)


Made = tuple[Shape, SpecPresence, str | None, Hold | None]
"""A pod's shape, which parts its spec has, the node it is pinned to, and what keeps it queued."""


class PodDecoder:
    """Decode pods, remembering demands and constraints by their raw bytes; of labels it keeps those of these keys.

    `resources`: what pods are charged beside, and instead of, what they request.
    """

    def __init__(self, labels: Collection[str] = (), resources: QuotaResources = AS_REQUESTED) -> None:
        self._labels = sorted(labels)
        self._resources = resources
        self.defaults = TemplateDefaults()
        """What the pods of a template have besides."""
        self._demands: dict[tuple[Any, ...], tuple[Any, Hold | None]] = {}
        self._places: dict[tuple[bytes, bytes, bytes], tuple[Constraints, SpecPresence, str | None]] = {}
        self._shapes: dict[Shape, Shape] = {}
        self._policies: dict[tuple[str, str], tuple[str, ...]] = {}
        self._kin = Kin()

    def __call__(self, raw: bytes | Raw) -> Pod:
        """Return the pod; raise UnreadableObject when the bytes are no pod."""
        try:
            pod = _pod.decode(raw)
            return self._build(pod)
        except (DecodeError, ValueError) as error:
            raise UnreadableObject(f"pod: {error}") from error

    def _build(self, pod: wire.PodObject) -> Pod:
        meta, spec, status, labels, notes = _parts(pod)
        shape, outline, pinned, hold = self._made(spec, status)
        belongs, unclear = self._kin.of(meta, spec.scheduling_group, spec.preemption_policy)
        return Pod(
            uid=meta.uid,
            namespace=meta.namespace,
            name=meta.name,
            shape=shape,
            generation=meta.generation,
            resource_version=meta.resource_version,
            queue=labels.get(QUEUE_NAME),
            gates=tuple(gate.name for gate in spec.scheduling_gates or ()),
            priority=spec.priority or 0,
            priority_class=labels.get(PRIORITY_CLASS),
            preempting_class=preempting_class(spec.priority_class_name, spec.preemption_policy),
            created=epoch(meta.creation_timestamp),
            node=spec.node_name or None,
            is_finished=status.phase in ENDED,
            **deletion(meta),
            **stamps(labels, notes),
            pinned=(notes[PLANNED_NODE] or None) if PLANNED_NODE in notes else pinned,
            said=condition_of(status.conditions),
            hold=hold or unclear,
            outline=outline,
            has_annotations=meta.annotations is not None,
            user=notes.get(USER, ""),
            started=started(status),
            ended=ended(status, is_terminating=meta.deletion_timestamp is not None),
            deadline=spec.active_deadline_seconds or 0,
            expected_runtime=stated(notes.get(EXPECTED_RUNTIME), spec.active_deadline_seconds),
            **belongs,
            completion_index=completion_index(labels, meta.annotations),
            has_succeeded=status.phase == "Succeeded",
            held=notes.get(HELD),
            is_on_top=ON_TOP in notes,
            policies=self._carried(meta.namespace, notes[POLICIES]) if POLICIES in notes else (),
            unscheduled="" if spec.node_name else unscheduled(status),
            **self._kept(labels, spec.resource_claims),
        )

    def _kept(self, labels: dict[str, str], claims: list[wire.PodClaim] | None) -> dict[str, Any]:
        """Return the labels that are kept, and the claims."""
        kept = tuple((key, labels[key]) for key in self._labels if key in labels)
        return {"labels": kept, "claims": claims_of(claims)} if claims else {"labels": kept}

    def of_template(self, template: wire.PodTemplate, namespace: str) -> Made:
        """Return the same of a pod that is still to be created from a template, as `defaults` will complete it.

        Which parts there are is said of the template itself.
        """
        shape, _, pinned, hold = self._made(self.defaults.completed(template.spec, namespace), None)
        return shape, self._place(template.spec)[1], pinned, hold

    def _made(self, spec: wire.PodSpec, status: wire.PodStatus | None) -> Made:
        constraints, outline, pinned = self._place(spec)
        requests, hold = self._demand(spec, status)
        hold = hold or (UNCOUNTED_CLAIMS if spec.resource_claims else None)
        return self._shape(Shape(requests, constraints)), outline, pinned, hold

    def _carried(self, namespace: str, noted: str) -> tuple[str, ...]:
        """Cluster-wide policies and those of the pod's namespace: others cannot concern it, whatever stands there.

        Names of SchedulingPolicies keep the prefix that tells them apart.
        """
        if len(noted) > _LONGEST_KEY:
            return ()  # some sixty policies; no more than that is kept for what anybody can write
        known = self._policies.get((namespace, noted))
        if known is None:
            own = (f"{namespace}/", SCHEDULING_POLICY_ENTRY)
            known = tuple(dict.fromkeys(n for n in noted.split(",") if n and ("/" not in n or n.startswith(own))))
            _remember(self._policies, (namespace, noted), known)
        return known

    def _shape(self, shape: Shape) -> Shape:
        known = self._shapes.get(shape)
        if known is None:
            _remember(self._shapes, shape, shape)
        return known or shape

    def _demand(self, spec: wire.PodSpec, status: wire.PodStatus | None) -> tuple[Any, Hold | None]:
        if status is not None and spec.node_name and _is_reported(status):
            return _demand(spec, status, self._resources)
        key = (
            *((c.name, bytes(c.resources)) for c in spec.containers),
            None,
            *((c.name, bytes(c.resources), c.restart_policy) for c in spec.init_containers or ()),
            bytes(spec.resources),
            bytes(spec.overhead),
        )
        known = self._demands.get(key)
        if known is None:
            known = _demand(spec, None, self._resources)
            if sum(len(part[1]) for part in key if isinstance(part, tuple)) < _LONGEST_KEY:
                _remember(self._demands, key, known)
        return known

    def _place(self, spec: wire.PodSpec) -> tuple[Constraints, SpecPresence, str | None]:
        key = (bytes(spec.node_selector), bytes(spec.affinity), bytes(spec.tolerations))
        known = self._places.get(key)
        if known is None:
            known = _place(*key)
            if sum(map(len, key)) < _LONGEST_KEY:
                _remember(self._places, key, known)
        return known


def _parts(pod: wire.PodObject) -> tuple[wire.PodMeta, wire.PodSpec, wire.PodStatus, dict[str, str], dict[str, str]]:
    return pod.metadata, pod.spec, pod.status, pod.metadata.labels or {}, pod.metadata.annotations or _NO_NOTES


def _remember(known: dict[Any, Any], key: Any, value: Any) -> None:
    if len(known) >= _REMEMBERED:
        known.clear()
    known[key] = value


def decode_node(raw: bytes | Raw) -> Node:
    """Return the node; raise UnreadableObject when the bytes are no node."""
    try:
        node = _node.decode(raw)
        ready = next((c for c in node.status.conditions or () if c.type == "Ready"), wire.Condition())
        not_ready_since = 0 if ready.status == "True" else int(epoch(ready.last_transition_time))
    except (DecodeError, ValueError) as error:
        raise UnreadableObject(f"node: {error}") from error
    return Node(
        name=node.metadata.name,
        labels=node.metadata.labels or {},
        taints=tuple(Taint(taint.key, taint.value, taint.effect) for taint in node.spec.taints or ()),
        allocatable=_allocatable(node),
        is_ready=ready.status == "True",
        not_ready_since=not_ready_since,
        is_cordoned=node.spec.unschedulable,
    )


def decode_runtime_class(raw: bytes | Raw) -> RuntimeClass:
    """Return the RuntimeClass; raise UnreadableObject when the bytes are none.

    Operators of tolerations stay as they are written: the apiserver's merge tells an empty one from Equal.
    """
    try:
        found = _runtime_class.decode(raw)
    except DecodeError as error:
        raise UnreadableObject(f"runtimeclass: {error}") from error
    rules = found.scheduling
    return RuntimeClass(
        name=found.metadata.name,
        handler=found.handler,
        node_selector=(rules.node_selector or {}) if rules else {},
        tolerations=tuple(
            Toleration(t.key, t.operator, t.value, t.effect, t.toleration_seconds) for t in rules.tolerations or ()
        )
        if rules
        else None,
        overhead=(found.overhead.pod_fixed or {}) if found.overhead else {},
    )


def decode_priority_class(raw: bytes | Raw) -> PriorityClass:
    """Return the PriorityClass; raise UnreadableObject when the bytes are none."""
    try:
        found = _priority_class.decode(raw)
    except DecodeError as error:
        raise UnreadableObject(f"priorityclass: {error}") from error
    return PriorityClass(name=found.metadata.name, value=found.value, is_default=found.global_default)


def decode_gated(raw: bytes | Raw) -> GatedPod | None:
    """Return where our gate is on a pod; None where it is not. Raise UnreadableObject when the bytes are no pod."""
    try:
        pod = _gates.decode(raw)
    except DecodeError as error:
        raise UnreadableObject(f"pod: {error}") from error
    names = [gate.name for gate in pod.spec.scheduling_gates or ()]
    if GATE not in names:
        return None
    meta = pod.metadata
    return GatedPod(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        generation=meta.generation,
        resource_version=meta.resource_version,
        index=names.index(GATE),
    )


def decode_metadata(raw: bytes | Raw) -> wire.Owned:
    """Return just the metadata of any object."""
    try:
        return _metadata.decode(raw).metadata
    except DecodeError as error:
        raise UnreadableObject(f"object: {error}") from error


def _allocatable(node: wire.NodeObject) -> dict[str, int]:
    try:
        return {name: supply_amount(name, text) for name, text in (node.status.allocatable or {}).items()}
    except QuantityError as error:
        raise UnreadableObject(f"node {node.metadata.name}: status.allocatable: {error}") from error


def claims_of(listed: Iterable[wire.PodClaim]) -> tuple[PodClaim, ...]:
    """Return the claims of a pod, or of those that a template makes."""
    return tuple(
        PodClaim(one.name, one.resource_claim_template_name or "", one.resource_claim_name or "") for one in listed
    )


def _demand(spec: wire.PodSpec, status: wire.PodStatus | None, resources: QuotaResources) -> tuple[Any, Hold | None]:
    statuses = (*(status.container_statuses or ()), *(status.init_container_statuses or ())) if status else ()
    reported = {one.name: _reported(one) for one in statuses}
    try:
        requests = pod_demand(
            [_container(container, reported) for container in spec.containers],
            [_container(container, reported) for container in spec.init_containers or ()],
            pod_level=_requests(spec.resources),
            pod_reported=_reported(status) if status is not None else None,
            overhead=_optional(_quantities, spec.overhead) or {},
            is_resize_infeasible=status is not None and _is_infeasible(status),
        )
        return resources.charged(requests), None
    except QuantityError as error:
        return (), Hold(Reason.INVALID_REQUESTS, str(error))


def _container(container: wire.Container, reported: dict[str, Reported | None]) -> ContainerDemand:
    return ContainerDemand(
        container.name,
        _requests(container.resources),
        reported.get(container.name),
        is_sidecar=container.restart_policy == "Always",
    )


def _reported(one: wire.ContainerStatus | wire.PodStatus) -> Reported | None:
    """What the node gives; None where it does not say, as before KEP-1287."""
    return Reported(one.resources.requests or {}, one.allocated_resources or {}) if one.resources else None


def _is_reported(status: wire.PodStatus) -> bool:
    every = (*(status.container_statuses or ()), *(status.init_container_statuses or ()))
    return status.resources is not None or any(one.resources is not None for one in every)


def _is_infeasible(status: wire.PodStatus) -> bool:
    return any(c.type == "PodResizePending" and c.reason == "Infeasible" for c in status.conditions or ())


def condition_of(conditions: Iterable[wire.Condition] | None) -> PublishedCondition | None:
    """Return our condition as it stands among those of a pod or Job; None where it is not there."""
    ours = next((c for c in conditions or () if c.type == CONDITION), None)
    if ours is None:
        return None
    begun = has_begun(ours.reason, ours.message)
    return PublishedCondition(
        ours.status, ours.reason, hash(ours.message), epoch(ours.last_probe_time), has_begun=begun
    )


def _requests(raw: Raw) -> dict[str, str | int]:
    resources = _optional(_resources, raw)
    return (resources.requests or {}) if resources else {}


def _optional(decoder: Decoder[Any], raw: bytes | Raw) -> Any:
    return decoder.decode(raw) if bytes(raw) else None


def _place(selector: bytes, affinity: bytes, tolerations: bytes) -> tuple[Constraints, SpecPresence, str | None]:
    own: dict[str, str] | None = _optional(_selector, selector)
    held: list[wire.PodToleration] | None = _optional(_tolerations, tolerations)
    whole: wire.Affinity | None = _affinity.decode(affinity) if affinity not in (b"", b"null") else None
    node = whole.node_affinity if whole is not None else None
    preferred = node.preferred if node is not None else None
    constraints = Constraints(
        node_selector=tuple(sorted((own or {}).items())),
        terms=required_terms(whole),
        tolerations=tuple(read_toleration(toleration) for toleration in held or ()),
    )
    outline = SpecPresence(
        node_selector=own is not None,
        tolerations=held is not None,
        affinity=whole is not None,
        node_affinity=node is not None,
        preferred=preferred is not None,
    )
    return constraints, outline, _pin(preferred or [])


def _pin(preferred: list[wire.PreferredTerm]) -> str | None:
    """Return the node that our soft pin names: the release patch puts it last."""
    for term in reversed(preferred):
        fields = term.preference.match_fields or []
        named = [f.values for f in fields if (f.key, f.operator) == ("metadata.name", "In")]
        if term.weight == PIN_WEIGHT and len(fields) == len(named) == 1 and named[0]:
            return named[0][0]
    return None

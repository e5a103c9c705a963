"""The annotation `penstock.dev/policies`: which policies changed the pod. Two kinds of steps write into it.

An entry is `name` or `namespace/name` of a pod scheduling policy, or `SchedulingPolicy/name`: no namespace has a
capital letter, so the two cannot be mistaken for each other. Each kind of step keeps its own entries true and leaves
the other's alone: what a user wrote or copied stays only as far as it is so. Pod scheduling policies stand first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from controller.core.keys import POLICIES, SCHEDULING_POLICY_ENTRY
from controller.core.kubernetes.pointers import escape
from webhook.reviews.patching import Operations


def scheduling_entry(name: str) -> str:
    """Name a SchedulingPolicy, in the annotation and in metrics."""
    return f"{SCHEDULING_POLICY_ENTRY}{name}"


def entries(pod: Mapping[str, Any], *, scheduling: bool) -> list[str]:
    """Return what the annotation says of one kind of policies."""
    return [name for name in _all(_annotations(pod)) if name.startswith(SCHEDULING_POLICY_ENTRY) is scheduling]


def with_entries(
    pod: Mapping[str, Any], right: Iterable[str], *, scheduling: bool, known: Collection[str] = ()
) -> tuple[Operations, tuple[str, ...]]:
    """Make `right` the entries of one kind: operations, and a warning that names what is removed but for `known`."""
    annotations = _annotations(pod)
    own, others = list(right), entries(pod, scheduling=not scheduling)
    fine = {*own, *known}
    wrong = [name for name in entries(pod, scheduling=scheduling) if name not in fine]
    warnings: tuple[str, ...] = ()
    if wrong:
        warnings = (
            f"removed {', '.join(wrong)} from {POLICIES}: only Penstock writes it, when a policy changes a pod",
        )
    value = ",".join((*others, *own) if scheduling else (*own, *others))
    noted = None if annotations is None else annotations.get(POLICIES)
    path = f"/metadata/annotations/{escape(POLICIES)}"
    if not value:
        return (({"op": "remove", "path": path},) if noted is not None else ()), warnings
    if value == noted:
        return (), warnings
    if annotations is None:
        return ({"op": "add", "path": "/metadata/annotations", "value": {POLICIES: value}},), warnings
    return ({"op": "add", "path": path, "value": value},), warnings


def _annotations(pod: Mapping[str, Any]) -> Mapping[str, str] | None:
    annotations: Mapping[str, str] | None = (pod.get("metadata") or {}).get("annotations")
    return annotations


def _all(annotations: Mapping[str, str] | None) -> list[str]:
    noted = (annotations or {}).get(POLICIES)
    return noted.split(",") if noted else []

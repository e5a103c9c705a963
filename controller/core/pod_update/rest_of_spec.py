"""What of a pod's spec cannot be changed at all once the pod exists: everything that no other rule lets through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from controller.core.pod_update.equality import Json, differing, same, same_field
from controller.core.pod_update.violation import Cause, Rule, Violation, shown

_CHECKED_APART: Final = (
    "activeDeadlineSeconds",
    "affinity",
    "containers",
    "initContainers",
    "schedulingGates",
    "schedulingGroup",
    "serviceAccount",
    "serviceAccountName",
    "terminationGracePeriodSeconds",
    "tolerations",
)
_POD_AFFINITIES: Final = ("podAffinity", "podAntiAffinity")
_NAMED_MOST: Final = 4


def rest_of_spec(old: Json, new: Json) -> Iterator[Violation]:
    """Refuse any other change. Mirrors the comparison of the munged specs at the end of `ValidatePodUpdate`.

    One fault at `spec`, as there; its text names what changed, which the original leaves to a diff of Go values.
    """
    changes = list(_changes(old, new))
    if changes:
        more = f" (and {len(changes) - _NAMED_MOST} more)" if len(changes) > _NAMED_MOST else ""
        text = f"{'; '.join(changes[:_NAMED_MOST])}{more}; make a new pod instead"
        yield Violation("spec", Cause.FORBIDDEN, Rule.SPEC_STAYS, text)


def _changes(old: Json, new: Json) -> Iterator[str]:
    is_gated = bool(old.get("schedulingGates"))
    apart = {*_CHECKED_APART, *(("nodeSelector",) if is_gated else ())}
    for name in differing(old, new, apart):
        hint = ", which can only be added to, and only while the pod is gated" if name == "nodeSelector" else ""
        yield f"spec.{name} was {shown(old.get(name))} and would be {shown(new.get(name))}{hint}"
    for name in ("containers", "initContainers"):
        yield from _changes_of_containers(name, old.get(name) or [], new.get(name) or [])
    yield from _changes_of_affinity(old.get("affinity"), new.get("affinity"), is_gated=is_gated)
    if _grace(old) != _grace(new):
        yield f"spec.terminationGracePeriodSeconds was {_grace(old)} and would be {_grace(new)}"
    if _account(old) != _account(new):
        yield f"spec.serviceAccountName was {shown(_account(old))} and would be {shown(_account(new))}"
    # a feature that is off: what is new there is dropped (dropDisabledSchedulingGroup), what was there stays
    if old.get("schedulingGroup") is not None and not same(old["schedulingGroup"], new.get("schedulingGroup")):
        yield (
            f"spec.schedulingGroup was {shown(old['schedulingGroup'])} and would be {shown(new.get('schedulingGroup'))}"
        )


def _changes_of_containers(name: str, old: list[Any], new: list[Any]) -> Iterator[str]:
    for index, (was, now) in enumerate(zip(old, new, strict=True)):
        for field in differing(was, now, ("image",)):
            path = f"spec.{name}[{index}].{field}"
            yield f"{path} was {shown(was.get(field))} and would be {shown(now.get(field))}"


def _changes_of_affinity(old: Any, new: Any, *, is_gated: bool) -> Iterator[str]:
    """Of a gated pod the node affinity is judged elsewhere, and may bring the whole affinity with it.

    Mirrors the four cases in which `ValidatePodUpdate` puts the old node affinity into the new spec.
    """
    was, now = old or {}, new or {}
    for name in _POD_AFFINITIES:
        if not same_field(name, was.get(name), now.get(name)):
            yield f"spec.affinity.{name} was {shown(was.get(name))} and would be {shown(now.get(name))}"
    if same_field("nodeAffinity", was.get("nodeAffinity"), now.get("nodeAffinity")):
        if (old is None) is not (new is None):
            yield f"spec.affinity was {shown(old)} and would be {shown(new)}"
    elif not is_gated:
        yield (
            f"spec.affinity.nodeAffinity was {shown(was.get('nodeAffinity'))} and would be "
            f"{shown(now.get('nodeAffinity'))}, which can only be added to, and only while the pod is gated"
        )


def _grace(spec: Json) -> int | None:
    """Less than nothing is 1 to the apiserver when it reads a pod (`Convert_v1_Pod_To_core_Pod`)."""
    seconds: int | None = spec.get("terminationGracePeriodSeconds")
    return 1 if seconds is not None and seconds < 0 else seconds


def _account(spec: Json) -> str:
    """The old name of the field counts where the new one is empty (`Convert_v1_PodSpec_To_core_PodSpec`)."""
    return spec.get("serviceAccountName") or spec.get("serviceAccount") or ""

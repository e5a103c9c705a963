"""Whether topology spread constraints are well formed. Mirrors `validateTopologySpreadConstraints` (k8s.io/kubernetes).

Whatever is written there, a change is refused: these faults are told beside that one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from controller.core.pod_update.equality import Json
from controller.core.pod_update.pod_affinity_validity import matched_keys_faults, selector_faults
from controller.core.pod_update.violation import Cause, Violation, invalid, shown

_ACTIONS: Final = ("DoNotSchedule", "ScheduleAnyway")
_POLICIES: Final = ("Honor", "Ignore")
_LIST: Final = "topologySpreadConstraints"


def violations(old: Json, constraints: list[Json]) -> Iterator[Violation]:
    """Return the faults of constraints that replace those of the spec `old`."""
    before = old.get(_LIST) or ()
    any_selector = any(True for one in before for _ in selector_faults("", one.get("labelSelector"), any_value=False))
    for index, one in enumerate(constraints):
        path = f"spec.{_LIST}[{index}]"
        yield from _numbers(path, one)
        yield from _choices(path, one, constraints[index + 1 :])
        yield from matched_keys_faults(path, one)
        if not any_selector:
            yield from selector_faults(f"{path}.labelSelector", one.get("labelSelector"), any_value=False)


def _numbers(path: str, constraint: Json) -> Iterator[Violation]:
    skew, domains = constraint.get("maxSkew") or 0, constraint.get("minDomains")
    if skew < 1:
        yield invalid(f"{path}.maxSkew", f"is {skew}; must be at least 1")
    if domains is None:
        return
    if domains < 1:
        yield invalid(f"{path}.minDomains", f"is {domains}; must be at least 1")
    if constraint.get("whenUnsatisfiable") != "DoNotSchedule":
        yield invalid(f"{path}.minDomains", f"is {domains}; goes with whenUnsatisfiable DoNotSchedule alone")


def _choices(path: str, constraint: Json, later: list[Json]) -> Iterator[Violation]:
    key, action = constraint.get("topologyKey") or "", constraint.get("whenUnsatisfiable") or ""
    if not key:
        yield invalid(f"{path}.topologyKey", "is empty; name a label of nodes", Cause.REQUIRED)
    if action not in _ACTIONS:
        text = f"is {shown(action)}; must be {' or '.join(_ACTIONS)}"
        yield invalid(f"{path}.whenUnsatisfiable", text, Cause.NOT_SUPPORTED)
    if any((one.get("topologyKey") or "", one.get("whenUnsatisfiable") or "") == (key, action) for one in later):
        pair = "{topologyKey, whenUnsatisfiable}"
        yield invalid(f"{path}.{pair}", f"{shown([key, action])} is there twice; use each once", Cause.DUPLICATE)
    for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        policy = constraint.get(name)
        if policy is not None and policy not in _POLICIES:
            text = f"is {shown(policy)}; must be {' or '.join(_POLICIES)}"
            yield invalid(f"{path}.{name}", text, Cause.NOT_SUPPORTED)

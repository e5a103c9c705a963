"""How the scheduling directives of a pod may grow: gates, node selector, node affinity, tolerations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from controller.core.kubernetes.directives import REQUIRED
from controller.core.pod_update.equality import Json, same_field
from controller.core.pod_update.violation import Cause, Rule, Violation, shown

_TERMS_PATH: Final = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"
_TERM_PARTS: Final = ("matchExpressions", "matchFields")


def gates(old: Json, new: Json) -> Iterator[Violation]:
    """Refuse gates that were not there. Mirrors `validateOnlyDeletedSchedulingGates`."""
    had = {gate.get("name") or "" for gate in old.get("schedulingGates") or ()}
    added = {gate.get("name") or "": index for index, gate in enumerate(new.get("schedulingGates") or ())}
    for name, index in added.items():
        if name not in had:
            text = f"the gate {shown(name)} was not there; gates can only be removed, once the pod exists"
            yield Violation(f"spec.schedulingGates[{index}].name", Cause.FORBIDDEN, Rule.GATES_ONLY_GO, text)


def tolerations(old: Json, new: Json) -> Iterator[Violation]:
    """Refuse that a toleration goes or changes, its seconds apart. Mirrors `validateOnlyAddedTolerations`."""
    now = {_without_seconds(one) for one in new.get("tolerations") or ()}
    for was in old.get("tolerations") or ():
        if _without_seconds(was) not in now:
            text = f"{shown(was)} is gone or changed; tolerations can be added, and their tolerationSeconds changed"
            yield Violation("spec.tolerations", Cause.FORBIDDEN, Rule.TOLERATIONS_ONLY_ADDED, text)
            return


def _without_seconds(toleration: Json) -> tuple[str, ...]:
    return tuple(toleration.get(name) or "" for name in ("key", "operator", "value", "effect"))


def node_selector(old: Json, new: Json) -> Iterator[Violation]:
    """Refuse, of a gated pod, that keys of the node selector go or change. Mirrors `validateNodeSelectorMutation`."""
    now: Mapping[str, str] = new.get("nodeSelector") or {}
    for key, value in (old.get("nodeSelector") or {}).items():
        if now.get(key) != value:
            text = f"{key} was {shown(value)} and would be {shown(now.get(key))}; keys can only be added"
            yield Violation("spec.nodeSelector", Cause.INVALID, Rule.NODE_SELECTOR_GROWS, text)
            return


def node_affinity(old: Json, new: Json) -> Iterator[Violation]:
    """Refuse, of a gated pod, that required terms come, go, change places or lose a requirement.

    Mirrors `validateNodeAffinityMutation`: where nothing was required, or no terms were listed, anything goes; so it
    does for preferred terms.
    """
    was, now = required_terms(old), required_terms(new)
    if not was:
        return
    if len(was) != len(now):
        text = f"has {len(was)} terms and would have {len(now)}; a gated pod keeps its terms, which can only grow"
        yield Violation(_TERMS_PATH, Cause.INVALID, Rule.TERM_COUNT_STAYS, text)
        return
    for index, (one, other) in enumerate(zip(was, now, strict=True)):
        fault = _term_fault(one, other)
        if fault:
            yield Violation(f"{_TERMS_PATH}[{index}]", Cause.INVALID, Rule.TERM_GROWS, fault)


def required_terms(spec: Json) -> Sequence[Json]:
    """The terms of the required node affinity, none where there is no such thing."""
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    terms: Sequence[Json] = (affinity.get(REQUIRED) or {}).get("nodeSelectorTerms") or ()
    return [term or {} for term in terms]


def _term_fault(old: Json, new: Json) -> str | None:
    """Say what is wrong with how a term grew. Mirrors `validateNodeSelectorTermHasOnlyAdditions`."""
    if not any(old.get(part) for part in _TERM_PARTS) and any(new.get(part) for part in _TERM_PARTS):
        return "the term is empty, which matches no node; it cannot be given requirements"
    for part in _TERM_PARTS:
        was, now = old.get(part) or [], new.get(part) or []
        for index, one in enumerate(was):
            if index >= len(now) or not _same_requirement(one, now[index]):
                is_ = now[index] if index < len(now) else None
                return (
                    f"{part}[{index}] was {shown(one)} and would be {shown(is_)}; "
                    f"requirements keep their places and new ones go behind them"
                )
    return None


def _same_requirement(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return (
        (one.get("key") or "") == (other.get("key") or "")
        and (one.get("operator") or "") == (other.get("operator") or "")
        and same_field("values", one.get("values"), other.get("values"))
    )

"""Whether pod affinity and anti-affinity are well formed, and label selectors with them.

Mirrors `validatePodAffinity`, `validatePodAntiAffinity` and `ValidateMatchLabelKeysAndMismatchLabelKeys`
(k8s.io/kubernetes), and `ValidateLabelSelector` (k8s.io/apimachinery).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from controller.core.kubernetes.directives import POD_TERM_LISTS, PREFERRED
from controller.core.kubernetes.names import (
    DNS_LABEL_FORM,
    LABEL_KEY_FORM,
    LABEL_VALUE_FORM,
    is_dns_label,
    is_label_key,
    is_label_value,
)
from controller.core.pod_update.equality import Json
from controller.core.pod_update.node_affinity_validity import weight
from controller.core.pod_update.violation import Cause, Violation, invalid, shown

_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")
_SELECTORS: Final = ("labelSelector", "namespaceSelector")


def violations(old: Json, affinity: Json) -> Iterator[Violation]:
    """Return the faults of the pod affinities of an affinity that replaces the one of the spec `old`."""
    any_value = _has_odd_selectors(old.get("affinity") or {})
    for kind, part in POD_TERM_LISTS:
        for index, entry in enumerate((affinity.get(kind) or {}).get(part) or ()):
            path = f"spec.affinity.{kind}.{part}[{index}]"
            if part == PREFERRED:
                yield from weight(path, entry)
                yield from _term(f"{path}.podAffinityTerm", entry.get("podAffinityTerm") or {}, any_value=any_value)
            else:
                yield from _term(path, entry, any_value=any_value)


def selector_faults(path: str, selector: Json | None, *, any_value: bool) -> Iterator[Violation]:
    """Mirrors `ValidateLabelSelector`; `any_value`: values that no object can have are let through."""
    if selector is None:
        return
    for key, value in (selector.get("matchLabels") or {}).items():
        if not is_label_key(key):
            yield invalid(f"{path}.matchLabels", f"the key {shown(key)} is none; must be {LABEL_KEY_FORM}")
        if not is_label_value(value or ""):
            yield invalid(f"{path}.matchLabels", f"{key} is {shown(value)}; must be {LABEL_VALUE_FORM}")
    for index, one in enumerate(selector.get("matchExpressions") or ()):
        yield from _selector_requirement(f"{path}.matchExpressions[{index}]", one, any_value=any_value)


def matched_keys_faults(path: str, constraint: Json, mismatched: Sequence[str] = ()) -> Iterator[Violation]:
    """Mirrors `ValidateMatchLabelKeysAndMismatchLabelKeys`, the odd path of its second check included."""
    selector, matched = constraint.get("labelSelector"), constraint.get("matchLabelKeys") or ()
    for name, keys in (("matchLabelKeys", matched), ("mismatchLabelKeys", mismatched)):
        yield from _label_keys(f"{path}.{name}", keys, selector)
    index_of = {key: index for index, key in enumerate(matched)}
    seen = set((selector or {}).get("matchLabels") or ())
    for one in (selector or {}).get("matchExpressions") or ():
        key = one.get("key") or ""
        if key in index_of and key in seen:
            text = f"{shown(key)} is in matchLabelKeys and in labelSelector; name it once"
            yield invalid(f"{path}[{index_of[key]}]", text)
        seen.add(key)
    for index, key in enumerate(matched):
        if key in mismatched:
            text = f"{shown(key)} is in matchLabelKeys and in mismatchLabelKeys; name it once"
            yield invalid(f"{path}.matchLabelKeys[{index}]", text)


def _term(path: str, term: Json, *, any_value: bool) -> Iterator[Violation]:
    """Mirrors `validatePodAffinityTerm`."""
    for name in _SELECTORS:
        yield from selector_faults(f"{path}.{name}", term.get(name), any_value=any_value)
    for namespace in term.get("namespaces") or ():
        if not is_dns_label(namespace or ""):
            yield invalid(f"{path}.namespace", f"{shown(namespace)} is no namespace; must be {DNS_LABEL_FORM}")
    yield from matched_keys_faults(path, term, term.get("mismatchLabelKeys") or ())
    key = term.get("topologyKey") or ""
    if not key:
        yield invalid(f"{path}.topologyKey", "is empty; name a label of nodes", Cause.REQUIRED)
    if not is_label_key(key):
        yield invalid(f"{path}.topologyKey", f"is {shown(key)}; must be {LABEL_KEY_FORM}")


def _label_keys(path: str, keys: Sequence[str], selector: Json | None) -> Iterator[Violation]:
    """Mirrors `validateLabelKeys`."""
    if keys and selector is None:
        yield invalid(path, f"is {shown(list(keys))}; it also needs a labelSelector", Cause.FORBIDDEN)
        return
    for index, key in enumerate(keys):
        if not is_label_key(key or ""):
            yield invalid(f"{path}[{index}]", f"is {shown(key)}; must be {LABEL_KEY_FORM}")


def _selector_requirement(path: str, requirement: Json, *, any_value: bool) -> Iterator[Violation]:
    """Mirrors `ValidateLabelSelectorRequirement`."""
    operator, values = requirement.get("operator") or "", requirement.get("values") or ()
    if operator not in _OPERATORS:
        yield invalid(f"{path}.operator", f"is {shown(operator)}; must be one of {', '.join(_OPERATORS)}")
    elif operator in ("In", "NotIn") and not values:
        yield invalid(f"{path}.values", f"is empty; {operator} needs at least one value", Cause.REQUIRED)
    elif operator not in ("In", "NotIn") and values:
        yield invalid(f"{path}.values", f"is {shown(values)}; {operator} takes none", Cause.FORBIDDEN)
    if not is_label_key(requirement.get("key") or ""):
        yield invalid(f"{path}.key", f"is {shown(requirement.get('key'))}; must be {LABEL_KEY_FORM}")
    for index, value in enumerate(() if any_value else values):
        if not is_label_value(value or ""):
            yield invalid(f"{path}.values[{index}]", f"is {shown(value)}; must be {LABEL_VALUE_FORM}")


def _has_odd_selectors(affinity: Json) -> bool:
    """Mirrors `hasInvalidLabelValueInAffinitySelector`: who has such selectors may keep them."""
    entries: Iterator[Any] = (
        entry.get("podAffinityTerm") or {} if part == PREFERRED else entry
        for kind, part in POD_TERM_LISTS
        for entry in (affinity.get(kind) or {}).get(part) or ()
    )
    return any(
        True for term in entries for name in _SELECTORS for _ in selector_faults("", term.get(name), any_value=False)
    )

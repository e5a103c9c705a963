"""Whether a node affinity is well formed. Mirrors `validateNodeAffinity` (k8s.io/kubernetes)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from controller.core.kubernetes.directives import PREFERRED, REQUIRED
from controller.core.kubernetes.labels import Operator
from controller.core.kubernetes.names import (
    DNS_SUBDOMAIN_FORM,
    LABEL_KEY_FORM,
    LABEL_VALUE_FORM,
    is_dns_subdomain,
    is_label_key,
    is_label_value,
)
from controller.core.kubernetes.node_terms import NODE_NAME_FIELD
from controller.core.pod_update.equality import Json
from controller.core.pod_update.scheduling import required_terms
from controller.core.pod_update.violation import Cause, Violation, invalid, shown

_PATH: Final = "spec.affinity.nodeAffinity"
_WEIGHT_MOST: Final = 100


def violations(old: Json, affinity: Json) -> Iterator[Violation]:
    """Return the faults of a node affinity that replaces the one of the spec `old`."""
    required = affinity.get(REQUIRED)
    if required is not None:
        path = f"{_PATH}.{REQUIRED}.nodeSelectorTerms"
        terms = required.get("nodeSelectorTerms") or ()
        if not terms:
            yield invalid(path, "is empty; must have at least one term", Cause.REQUIRED)
        for index, term in enumerate(terms):
            yield from _term(f"{path}[{index}]", term, any_value=_has_odd_values(old))
    for index, preferred in enumerate(affinity.get(PREFERRED) or ()):
        path = f"{_PATH}.{PREFERRED}[{index}]"
        yield from weight(path, preferred)
        # preferences may name values that no node can have (`ValidatePreferredSchedulingTerms`)
        yield from _term(f"{path}.preference", preferred.get("preference") or {}, any_value=True)


def weight(path: str, preferred: Json) -> Iterator[Violation]:
    """The weight of a preferred term, of nodes or of pods."""
    value = preferred.get("weight") or 0
    if not 1 <= value <= _WEIGHT_MOST:
        yield invalid(f"{path}.weight", f"is {value}; must be from 1 to {_WEIGHT_MOST}")


def _has_odd_values(old: Json) -> bool:
    """Mirrors `hasInvalidLabelValueInRequiredNodeAffinity`: who has such values may keep them, and add more."""
    expressions = (one for term in required_terms(old) for one in term.get("matchExpressions") or ())
    return any(not is_label_value(value or "") for one in expressions for value in one.get("values") or ())


def _term(path: str, term: Json, *, any_value: bool) -> Iterator[Violation]:
    """Mirrors `ValidateNodeSelectorTerm`."""
    for index, one in enumerate(term.get("matchExpressions") or ()):
        yield from _expression(f"{path}.matchExpressions[{index}]", one, any_value=any_value)
    for index, one in enumerate(term.get("matchFields") or ()):
        yield from _field(f"{path}.matchFields[{index}]", one)


def _expression(path: str, requirement: Json, *, any_value: bool) -> Iterator[Violation]:
    """Mirrors `ValidateNodeSelectorRequirement`."""
    operator, values = requirement.get("operator") or "", requirement.get("values") or ()
    match operator:
        case Operator.IN | Operator.NOT_IN:
            if not values:
                yield invalid(f"{path}.values", f"is empty; {operator} needs at least one value", Cause.REQUIRED)
        case Operator.EXISTS | Operator.DOES_NOT_EXIST:
            if values:
                yield invalid(f"{path}.values", f"is {shown(values)}; {operator} takes none", Cause.FORBIDDEN)
        case Operator.GT | Operator.LT:
            if len(values) != 1:
                yield invalid(f"{path}.values", f"is {shown(values)}; {operator} takes one number", Cause.REQUIRED)
        case _:
            yield invalid(f"{path}.operator", f"is {shown(operator)}; must be one of {', '.join(Operator)}")
    if not is_label_key(requirement.get("key") or ""):
        yield invalid(f"{path}.key", f"is {shown(requirement.get('key'))}; must be {LABEL_KEY_FORM}")
    for index, value in enumerate(() if any_value else values):
        if not is_label_value(value or ""):
            yield invalid(f"{path}.values[{index}]", f"is {shown(value)}; must be {LABEL_VALUE_FORM}")


def _field(path: str, requirement: Json) -> Iterator[Violation]:
    """Mirrors `ValidateNodeFieldSelectorRequirement`: the one field there is is the node's name."""
    operator, values = requirement.get("operator") or "", requirement.get("values") or ()
    if operator not in (Operator.IN, Operator.NOT_IN):
        yield invalid(f"{path}.operator", f"is {shown(operator)}; must be In or NotIn for a field")
    elif len(values) != 1:
        yield invalid(f"{path}.values", f"is {shown(values)}; must be one node name", Cause.REQUIRED)
    if requirement.get("key") != NODE_NAME_FIELD:
        yield invalid(f"{path}.key", f"is {shown(requirement.get('key'))}; must be {NODE_NAME_FIELD}")
        return
    for index, value in enumerate(values):
        if not is_dns_subdomain(value or ""):
            yield invalid(f"{path}.values[{index}]", f"is {shown(value)}; must be {DNS_SUBDOMAIN_FORM}")

"""One thing that the apiserver would refuse in an update of a pod."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

NEWEST: Final = 37
"""The minor version of Kubernetes whose rules are meant where nobody says which. What else is known: 36."""

_LONGEST_VALUE: Final = 120


class Cause(StrEnum):
    """The reason that the apiserver gives beside the field: metav1.CauseType, written by field.ErrorType."""

    REQUIRED = "FieldValueRequired"
    INVALID = "FieldValueInvalid"
    FORBIDDEN = "FieldValueForbidden"
    NOT_SUPPORTED = "FieldValueNotSupported"
    DUPLICATE = "FieldValueDuplicate"
    TOO_LONG = "FieldValueTooLong"


class Rule(StrEnum):
    """Which rule an update breaks."""

    VALID = "Valid"
    """What is written anew must be well formed, whatever it was before."""
    IDENTITY_STAYS = "IdentityStays"
    """Name, namespace, uid and the times of deletion are not for clients to change."""
    NO_NEW_FINALIZERS = "NoNewFinalizers"
    """What is being deleted gets no more finalizers."""
    ANNOTATION_STAYS = "AnnotationStays"
    """AppArmor and mirror annotations are set when the pod is created."""
    GATES_ONLY_GO = "GatesOnlyGo"
    """Scheduling gates can be removed, never added."""
    NODE_SELECTOR_GROWS = "NodeSelectorGrows"
    """A gated pod's node selector gains keys; what it has stays."""
    TERM_COUNT_STAYS = "TermCountStays"
    """Required node affinity keeps its number of terms."""
    TERM_GROWS = "TermGrows"
    """Each required term keeps its place and gains requirements at its end alone; an empty one gains none."""
    TOLERATIONS_ONLY_ADDED = "TolerationsOnlyAdded"
    """Tolerations are added; of those that are there only the seconds change."""
    CONTAINERS_STAY = "ContainersStay"
    """Containers are neither added nor removed."""
    DEADLINE_SHRINKS = "DeadlineShrinks"
    """The active deadline can be set, or made shorter."""
    SPEC_STAYS = "SpecStays"
    """Everything else in the spec is fixed when the pod is created."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A fault of an update: the field as the apiserver names it, its cause there, our rule, and words for people."""

    path: str
    cause: Cause
    rule: Rule
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}"


def invalid(path: str, text: str, cause: Cause = Cause.INVALID) -> Violation:
    """Return the fault of a value that is malformed in itself."""
    return Violation(path, cause, Rule.VALID, text)


def shown(value: Any) -> str:
    """Write a value for a message: JSON, cut where it is long."""
    text = "not set" if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"

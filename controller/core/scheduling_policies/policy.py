"""A SchedulingPolicy as pods are judged by it.

Everywhere None means absent, which allows (and demands) nothing of that kind, and empty means everything of it; the
same holds for keys of the mappings: one that is missing is absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from controller.core.kubernetes.directives import PodTermList, Preferred
from controller.core.kubernetes.labels import Term
from controller.core.kubernetes.taints import Toleration
from controller.core.pod_policies.policies import Mode

Names = tuple[str, ...]


class MergeOption(StrEnum):
    """How several policies become one; the three options of the proposal, in its order."""

    DEEP_MERGE = "DeepMerge"
    FIRST_POLICY = "FirstPolicy"
    FIRST_ENTRY = "FirstEntry"


class AffinityKind(StrEnum):
    """The three affinities, by their names in a policy."""

    NODE = "nodeAffinities"
    TOGETHER = "podAffinities"
    APART = "podAntiAffinities"


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """Requirements on nodes of many kinds at once: any of the keys with any of the operators and of the values."""

    keys: Names | None = None
    operators: Names | None = None
    values: Names | None = None


@dataclass(frozen=True, slots=True)
class TermForm:
    """What a node selector term may, or must, be made of: forms of label requirements and of those on the name."""

    expressions: tuple[Form, ...] | None = None
    fields: tuple[Form, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TolerationForm:
    """Tolerations of many kinds at once."""

    keys: Names | None = None
    operators: Names | None = None
    values: Names | None = None
    effects: Names | None = None


TermForms = tuple[TermForm, ...]
Parts = Mapping[str, TermForms]
"""By REQUIRED and PREFERRED of `kubernetes.directives`; terms of other pods are not looked into, so theirs are ()."""

Affinities = Mapping[AffinityKind, Parts]
NodeSelectors = Mapping[str, Names]


@dataclass(frozen=True, slots=True, kw_only=True)
class Required:
    """What pods must use. No list is empty, and neither are the mappings, an affinity kind's parts apart."""

    scheduler_names: Names | None = None
    priority_class_names: Names | None = None
    runtime_class_names: Names | None = None
    node_selectors: NodeSelectors | None = None
    affinities: Affinities | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What pods may use besides."""

    scheduler_names: Names | None = None
    priority_class_names: Names | None = None
    runtime_class_names: Names | None = None
    node_names: Names | None = None
    node_selectors: NodeSelectors | None = None
    tolerations: tuple[TolerationForm, ...] | None = None
    affinities: Affinities | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultAffinity:
    """core/v1 Affinity, as in `kubernetes.directives`; what is empty or None is not given."""

    required: tuple[Term, ...] | None = None
    preferred: tuple[Preferred, ...] = ()
    pod_terms: Mapping[PodTermList, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """What pods are given that use nothing of the kind. None is absent; nothing here is empty."""

    scheduler_name: str | None = None
    priority_class_name: str | None = None
    runtime_class_name: str | None = None
    node_selector: Mapping[str, str] | None = None
    tolerations: tuple[Toleration, ...] | None = None
    affinity: DefaultAffinity | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One policy, cluster-wide."""

    name: str
    mode: Mode = Mode.ENFORCE
    required: Required = Required()
    allowed: Allowed = Allowed()
    default: Defaults = Defaults()


@dataclass(frozen=True, slots=True)
class Faulty:
    """A policy that breaks the rules of its kind: it is there, so pods are judged, but gives and allows nothing.

    `mode` is Enforce, the default of the kind, where it cannot be read.
    """

    name: str
    mode: Mode = Mode.ENFORCE

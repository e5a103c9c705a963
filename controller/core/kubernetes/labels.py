"""Label requirements: matching a set of labels, and whether requirements can hold together.

Mirrors `labels.Requirement.Matches` (k8s.io/apimachinery) and `nodeaffinity` (k8s.io/component-helpers). A term with
neither expressions nor fields matches no node, as in Kubernetes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_SHOWN_MOST: Final = 8
_INTEGER: Final = re.compile("([+-]?)0*([0-9]{1,19})")


class Operator(StrEnum):
    """Operators of node selector requirements; label selectors know the first four."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement on one label key. `values` keep the order in which they were written."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Say whether a node or object with these labels meets the requirement."""
        value = labels.get(self.key)
        match self.operator:
            case Operator.IN:
                return value in self.values
            case Operator.NOT_IN:
                return value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
            case Operator.GT | Operator.LT:
                return self._compares(value)

    @property
    def text(self) -> str:
        """Write `arch In [amd64, arm64]`, for people; of many values the first ones."""
        more = [f"{len(self.values) - _SHOWN_MOST} more"] if len(self.values) > _SHOWN_MOST else []
        values = f" [{', '.join([*self.values[:_SHOWN_MOST], *more])}]" if self.values else ""
        return f"{self.key} {self.operator.value}{values}"

    @property
    def bound(self) -> int | None:
        """What Gt or Lt compare with; None when that is no number, or not one, and nothing matches."""
        return _integer(self.values[0]) if len(self.values) == 1 else None

    def _compares(self, value: str | None) -> bool:
        have, bound = _integer(value), self.bound
        if have is None or bound is None:
            return False
        return have > bound if self.operator is Operator.GT else have < bound


@dataclass(frozen=True, slots=True)
class Term:
    """One node selector term: all of its expressions (labels) and fields (only metadata.name) must hold."""

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    @property
    def is_empty(self) -> bool:
        """An empty term matches no node and must never be given requirements."""
        return not self.expressions and not self.fields

    @property
    def text(self) -> str:
        """Write `zone In [a] and gpu Exists`, for people."""
        return " and ".join(one.text for one in (*self.expressions, *self.fields)) or "no node"

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Say whether the node of this name and labels meets the term."""
        if self.is_empty:
            return False
        named = {"metadata.name": name}
        return all(r.matches(labels) for r in self.expressions) and all(r.matches(named) for r in self.fields)


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """metav1.LabelSelector as a conjunction; one without requirements matches everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Say whether an object with these labels is selected."""
        return all(requirement.matches(labels) for requirement in self.requirements)


def contradictory_key(requirements: Iterable[Requirement]) -> str | None:
    """Return the first key (by name) whose requirements no label value can meet together, else None."""
    by_key: dict[str, list[Requirement]] = {}
    for requirement in requirements:
        by_key.setdefault(requirement.key, []).append(requirement)
    return min((key for key, of_one in by_key.items() if not _satisfiable(of_one)), default=None)


def _satisfiable(requirements: list[Requirement]) -> bool:
    if len(requirements) == 1 and requirements[0].operator is Operator.IN:
        return bool(requirements[0].values)  # by far the most there are
    if all(r.matches({}) for r in requirements):
        return True
    if any(r.operator is Operator.DOES_NOT_EXIST for r in requirements):
        return False
    listed = [set(r.values) for r in requirements if r.operator is Operator.IN]
    if not listed:
        return _range_is_open(requirements)
    # lists of a pod are as long as its writer likes, so none is searched once a value
    unlisted = {value for r in requirements if r.operator is Operator.NOT_IN for value in r.values}
    bounds = [r for r in requirements if r.operator in (Operator.GT, Operator.LT)]
    return any(all(r.matches({r.key: value}) for r in bounds) for value in set.intersection(*listed) - unlisted)


def _range_is_open(requirements: list[Requirement]) -> bool:
    """With no `In`, only Gt and Lt bound the value. NotIn closes no range: 05 is the number 5 in another spelling.

    A label's value does not begin with a sign, so no number among labels is below 0.
    """
    above, below = [-1], [2**63]
    for requirement in requirements:
        if requirement.operator in (Operator.GT, Operator.LT):
            if requirement.bound is None:
                return False
            (above if requirement.operator is Operator.GT else below).append(requirement.bound)
    return max(above) + 1 < min(below)


def _integer(text: str | None) -> int | None:
    """Read a base-10 int64 as strconv.ParseInt does; None when it is none."""
    match = _INTEGER.fullmatch(text or "")
    if match is None:
        return None
    # without the zeros in front: int() refuses to read thousands of digits
    value = int(match[1] + match[2])
    return value if -(2**63) <= value < 2**63 else None

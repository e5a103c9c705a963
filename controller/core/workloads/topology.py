"""One domain for all pods of a gang, or for each slice of it: a value of a node label, such as one zone or one rack.

The key is any label of nodes. A gang that requires its domain is held there by its release patch, so those that an
owner makes again later follow the others; one that prefers it goes anywhere where no domain has room for all. Each
slice is held to its own (Kueue's podset-slice-required-topology).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from controller.core.keys import PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY, SLICE_SIZE, SLICE_TOPOLOGY
from controller.core.kubernetes.labels import Operator, Requirement, Term
from controller.core.kubernetes.names import is_label_key
from controller.core.workloads.shapes import Constraints, Shape

_MOST_DIGITS = 5


@dataclass(frozen=True, slots=True)
class Domain:
    """Nodes that have this value of a label. `is_required`: pods there are held to it, else they prefer it."""

    key: str
    value: str
    is_required: bool = True

    @property
    def requirement(self) -> Requirement:
        """What holds on its nodes alone."""
        return Requirement(self.key, Operator.IN, (self.value,))


@dataclass(frozen=True, slots=True)
class Topology:
    """What a gang says of its domain. `value`: the one in which members of it are already; empty: any will do."""

    key: str
    is_required: bool
    value: str = ""


@dataclass(frozen=True, slots=True)
class Slices:
    """A gang stands in slices of `size` pods, each in one domain of `key`; the last may have fewer.

    `value`: the domain in which the others of the one slice are that this is part of; empty: any will do.
    """

    key: str
    size: int
    value: str = ""


class TopologyFault(ValueError):
    """What a pod says of its domain cannot be used; the text says which annotation, and what to write."""


def read_topology(notes: Mapping[str, str]) -> Topology | None:
    """Read the annotations of a member of a gang. Raises TopologyFault."""
    required, preferred = notes.get(REQUIRED_TOPOLOGY), notes.get(PREFERRED_TOPOLOGY)
    if required is not None and preferred is not None:
        raise TopologyFault(f"the annotations {REQUIRED_TOPOLOGY} and {PREFERRED_TOPOLOGY} exclude each other")
    key = preferred if required is None else required
    if key is None:
        return None
    _check(PREFERRED_TOPOLOGY if required is None else REQUIRED_TOPOLOGY, key)
    return Topology(key, required is not None)


def read_slices(notes: Mapping[str, str]) -> Slices | None:
    """Read what a member of a gang says of its slices. Raises TopologyFault."""
    key, size = notes.get(SLICE_TOPOLOGY), notes.get(SLICE_SIZE)
    if key is None and size is None:
        return None
    if key is None or size is None:
        lacking = SLICE_TOPOLOGY if key is None else SLICE_SIZE
        raise TopologyFault(f"the annotations {SLICE_TOPOLOGY} and {SLICE_SIZE} go together; add {lacking}")
    _check(SLICE_TOPOLOGY, key)
    if not (size.isascii() and size.isdecimal() and len(size) <= _MOST_DIGITS and int(size) > 0):
        raise TopologyFault(
            f"the annotation {SLICE_SIZE} is {size[:40]!r}; write how many pods a slice has, 1 to 99999"
        )
    return Slices(key, int(size))


def _check(name: str, key: str) -> None:
    if not is_label_key(key):
        wanted = "write the key of a node label, such as topology.kubernetes.io/zone"
        raise TopologyFault(f"the annotation {name} is {key[:40]!r}; {wanted}")


def rest_of_gang(topology: Topology, admitted: Iterable[Constraints]) -> Topology | None:
    """Return what the rest of a gang is held to, of which these members are admitted; None: to nothing."""
    if not topology.is_required:
        return None
    values = {value for one in admitted for value in [domain_of(one, topology.key)] if value}
    return replace(topology, value=min(values)) if values else None


def domain_of(constraints: Constraints, key: str) -> str:
    """Return the one value of a label that a pod is held to; empty: it is to none."""
    own = dict(constraints.node_selector).get(key)
    if own is not None:
        return own
    terms = [one for one in constraints.terms or () if not one.is_empty]
    held = [
        {one.values[0] for one in term.expressions if (one.key, one.operator, len(one.values)) == (key, Operator.IN, 1)}
        for term in terms
    ]
    found: set[str] = set.intersection(*held) if held else set()
    return min(found, default="")


def held_to(shape: Shape, domain: Domain) -> Shape:
    """Return a shape that may run in one domain alone."""
    own = shape.constraints
    terms = (Term(),) if own.terms is None else tuple(one for one in own.terms if not one.is_empty)
    held = tuple(replace(one, expressions=(*one.expressions, domain.requirement)) for one in terms)
    return replace(shape, constraints=Constraints(own.node_selector, held, own.tolerations, own.only))

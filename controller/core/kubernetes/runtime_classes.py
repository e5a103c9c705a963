"""RuntimeClasses: what a class adds to a pod, and where the two contradict each other.

Mirrors `setOverhead`, `setScheduling` and `validateOverhead` of k8s.io/kubernetes/plugin/pkg/admission/runtimeclass,
so that the apiserver, which does the same before and after our webhook, finds nothing left to change.
Which class a pod gets is not here (`webhook.steps.runtime_class`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from controller.core.kubernetes.amounts import QuantityError, parse_quantity
from controller.core.kubernetes.taints import Toleration, merge_tolerations

Quantities = Mapping[str, str | int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeClass:
    """A class as the cluster has it. `tolerations` None: it has no scheduling rules at all."""

    name: str
    handler: str = ""
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Toleration, ...] | None = None
    overhead: Quantities = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Additions:
    """What the pod's spec lacks of its class; empty where it has it all.

    `node_selector` are the pairs to add, `tolerations` the whole merged list, `overhead` what it must be.
    """

    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Toleration, ...] = ()
    overhead: Quantities = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Conflict:
    """The pod's own word against its class. `path` and `demanded_by` are fields of the pod and of the class."""

    path: str
    own: str
    demanded: str
    demanded_by: str
    remedy: str


def additions(
    selector: Mapping[str, str], tolerations: tuple[Toleration, ...], overhead: Quantities, wanted: RuntimeClass
) -> Additions | Conflict:
    """Return what `wanted` adds to a pod with this nodeSelector, tolerations and overhead, or the first conflict.

    The apiserver looks at overhead first, and so does this.
    """
    if overhead and not _equal(overhead, wanted.overhead):
        return _overhead_conflict(overhead, wanted)
    for key, value in sorted(wanted.node_selector.items()):
        if selector.get(key, value) != value:
            return Conflict(
                path=f"spec.nodeSelector[{key}]",
                own=repr(selector[key]),
                demanded=repr(value),
                demanded_by="scheduling.nodeSelector",
                remedy=f"remove {key} from the pod's nodeSelector, or set it to {value!r}",
            )
    merged = tolerations if wanted.tolerations is None else merge_tolerations(tolerations, wanted.tolerations)
    return Additions(
        node_selector={key: value for key, value in wanted.node_selector.items() if key not in selector},
        tolerations=() if merged == tolerations else merged,
        overhead={} if overhead else wanted.overhead,
    )


def is_tolerant(tolerations: tuple[Toleration, ...], wanted: RuntimeClass) -> bool:
    """Say whether a pod with these tolerations has, or covers, all of the class's."""
    return all(any(own.includes(one) for own in tolerations) for one in wanted.tolerations or ())


def _overhead_conflict(overhead: Quantities, wanted: RuntimeClass) -> Conflict:
    return Conflict(
        path="spec.overhead",
        own=_written(overhead),
        demanded=_written(wanted.overhead) if wanted.overhead else "none",
        demanded_by="overhead.podFixed",
        remedy="remove spec.overhead: it is set from the class",
    )


def _equal(one: Quantities, other: Quantities) -> bool:
    """Compare by amount, as `Semantic.DeepEqual` does: 1 is 1000m."""
    return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)


def _same(one: str | int, other: str | int) -> bool:
    try:
        return parse_quantity(one) == parse_quantity(other)
    except QuantityError:
        return str(one) == str(other)


def _written(quantities: Quantities) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in sorted(quantities.items()))

"""Which nodes take the pods of a RuntimeClass, and why each other node does not. Free room is not looked at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from controller.core.kubernetes.nodes import Node
from controller.core.kubernetes.runtime_classes import RuntimeClass
from controller.core.kubernetes.taints import Taint, are_tolerated

_NOT_READY = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_CORDONED = "node.kubernetes.io/unschedulable"


class Obstacle(StrEnum):
    """Why a node is not for a class."""

    LABEL_MISSING = "LabelMissing"
    LABEL_DIFFERS = "LabelDiffers"
    TAINT_NOT_TOLERATED = "TaintNotTolerated"
    NOT_READY = "NotReady"


@dataclass(frozen=True, slots=True)
class Finding:
    """One obstacle in words."""

    obstacle: Obstacle
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a class makes of one node. A cordoned node matches all the same: that passes."""

    node: str
    findings: tuple[Finding, ...]
    is_cordoned: bool

    @property
    def matches(self) -> bool:
        """Whether the class's rules and the node's state let pods of the class go there."""
        return not self.findings


def judge(wanted: RuntimeClass, nodes: Iterable[Node]) -> list[Verdict]:
    """Return the verdict on every node, by name."""
    return [
        Verdict(node.name, (*_labels(wanted, node), *_taints(wanted, node), *_state(node)), node.is_cordoned)
        for node in sorted(nodes, key=lambda node: node.name)
    ]


def _labels(wanted: RuntimeClass, node: Node) -> Iterable[Finding]:
    for key, value in sorted(wanted.node_selector.items()):
        found = node.labels.get(key)
        if found is None:
            yield Finding(Obstacle.LABEL_MISSING, f"label {key} is missing, the class wants {value!r}")
        elif found != value:
            yield Finding(Obstacle.LABEL_DIFFERS, f"label {key} is {found!r}, the class wants {value!r}")


def _taints(wanted: RuntimeClass, node: Node) -> Iterable[Finding]:
    for taint in node.taints:
        if not _is_of_state(taint, node) and not are_tolerated([taint], wanted.tolerations or ()):
            written = f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
            yield Finding(Obstacle.TAINT_NOT_TOLERATED, f"taint {written} is not tolerated by the class")


def _is_of_state(taint: Taint, node: Node) -> bool:
    """Whether the taint only repeats the node's state, which is told by itself."""
    return (taint.key == _CORDONED and node.is_cordoned) or (taint.key in _NOT_READY and not node.is_ready)


def _state(node: Node) -> Iterable[Finding]:
    if not node.is_ready:
        yield Finding(Obstacle.NOT_READY, "the node is not ready")

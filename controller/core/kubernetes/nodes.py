"""What placement needs of a node. Which of them a pod may use: `capacity.node_index`; free room: `capacity.room`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from controller.core.kubernetes.amounts import UNLIMITED, Requests
from controller.core.kubernetes.taints import Taint


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """What placement needs of a node."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    allocatable: Mapping[str, int] = field(default_factory=dict)
    is_ready: bool = True
    not_ready_since: int = 0
    """When it stopped being Ready, seconds since 1970; means nothing while it is Ready."""
    is_cordoned: bool = False

    @property
    def known(self) -> Mapping[str, int]:
        """What is allocatable of resources of which that is known."""
        return {resource: amount for resource, amount in self.allocatable.items() if amount < UNLIMITED}

    @property
    def is_usable(self) -> bool:
        """Whether new pods can go there as far as the node itself is concerned."""
        return self.is_ready and not self.is_cordoned

    def holds(self, requests: Requests) -> int:
        """Say how many of these it has room for when nothing runs on it."""
        return min((self.allocatable.get(resource, 0) // need for resource, need in requests), default=0)

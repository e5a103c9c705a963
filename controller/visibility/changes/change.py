"""What every change has: words, a cost by which changes are sorted, and what it makes of a case."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import IntEnum

from controller.visibility.editing import Case


class Cost(IntEnum):
    """What a change takes, the cheapest first."""

    WAITING = 0
    """Nothing: it comes by itself."""
    OWN = 1
    """Something that the owner of the workload can change on it."""
    SETUP = 2
    """Something that whoever looks after queues can change on an object."""
    QUOTA = 3
    """More of something that others may have to give up."""
    NODES = 4
    """More or other nodes."""


class Change(ABC):
    """One change, a frozen value."""

    __slots__ = ()

    @property
    @abstractmethod
    def cost(self) -> Cost:
        """What it takes."""

    @property
    @abstractmethod
    def text(self) -> str:
        """What is to be done or to happen, as a clause without a full stop."""

    @property
    def command(self) -> str:
        """The command that does it; empty: there is none."""
        return ""

    @property
    def pods(self) -> tuple[str, ...]:
        """Pods that have to end, namespace/name, the one first that the text names."""
        return ()

    @property
    @abstractmethod
    def key(self) -> tuple[str, ...]:
        """What it changes: changes of the same key are one, and may add up."""

    @property
    def is_of_requests(self) -> bool:
        """Whether the workload asks for other amounts with it: what was short before is short by another amount."""
        return False

    @abstractmethod
    def apply(self, case: Case) -> Case:
        """Return the case in which it is done."""

    def plus(self, other: Change) -> Change:
        """Return the one change that this and a later one of the same key come to."""
        return other

    def for_those_before(self, amounts: Mapping[str, int]) -> Change:
        """Return the change that also gives what those before the workload ask for, where it gives amounts."""
        del amounts
        return self

"""What is wrong with a pod by its policies: where, what stands there, what would be right, who says so."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from controller.core.scheduling_policies.wording import policies_text


class Breach(Enum):
    """In which way a pod goes against policies."""

    REQUIRED = auto()
    """Something that must be there is not, or has another value."""
    NOT_ALLOWED = auto()
    """Policies speak of this, and allow something else."""
    UNSPOKEN = auto()
    """No policy that counts speaks of this, so nothing of it is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One breach. `value` is empty where something is missing; `wanted` where nothing would do.

    `entry` is the entry of the policies that was broken, `policies` are those that have it; if none has, they are all
    that count.
    """

    path: str
    value: str
    breach: Breach
    entry: str
    wanted: str
    policies: tuple[str, ...]

    @property
    def text(self) -> str:
        """The violation for who creates the pod."""
        found = f"{self.path} is {self.value}" if self.value else f"{self.path} is not set"
        who = policies_text(self.policies)
        match self.breach:
            case Breach.REQUIRED:
                return f"{found}, must be {self.wanted} ({self.entry} of {who})"
            case Breach.NOT_ALLOWED:
                return f"{found}, allowed is {self.wanted} ({self.entry} of {who})"
            case Breach.UNSPOKEN:
                return f"{found}, which needs {self.entry}, not given by {who}"

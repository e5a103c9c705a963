"""What is said of a target, by the controller or by a decision that is made here."""

from __future__ import annotations

from dataclasses import dataclass

from controller.visibility.explanation_rows import Explanation


@dataclass(frozen=True, slots=True)
class Explained:
    """A target in a namespace: the first of so many workloads that wait; of none `message` says all."""

    namespace: str
    message: str
    waiting: int
    explanation: Explanation | None

"""What a conversion tells beside its result: one line each, with object, field, why, and what to do."""

from __future__ import annotations

from dataclasses import dataclass, field

from controller.cli.imports.kueue_documents import Found


@dataclass(slots=True)
class Report:
    """`losses` change which pods are admitted or onto which nodes; `warnings` change when, or are for people to do."""

    losses: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def lose(self, found: Found, path: str, text: str) -> None:
        """Say what would be left out, so that pods would be admitted which were not, or the other way round."""
        self.losses.append(f"{found.label}: {path}: {text}")

    def warn(self, found: Found, path: str, text: str) -> None:
        """Say what becomes different otherwise."""
        self.warnings.append(f"{found.label}: {path}: {text}")

"""How well what a program knows of the cluster is kept up, by resource: for both programs, which differ in prefix."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from prometheus_client import CollectorRegistry, Gauge


class Source(Protocol):
    """What keeps up a resource: an informer, as far as this reads it."""

    @property
    def resource(self) -> str:
        """Plural name of the kind."""

    @property
    def stale_seconds(self) -> float | None:
        """For how long what is known may be out of date; None while its watch works."""


class SourceGauges:
    """Two gauges of each source that was there at the last refresh."""

    def __init__(self, prefix: str, program: str, registry: CollectorRegistry) -> None:
        """`program` is what the help texts call it."""
        self._up = Gauge(
            f"{prefix}_source_up",
            f"1 while a watch keeps what the {program} knows of a resource current, else 0.",
            ["resource"],
            registry=registry,
        )
        self._stale_seconds = Gauge(
            f"{prefix}_source_stale_seconds",
            f"For how long what the {program} knows of a resource may be out of date; 0 while its watch works.",
            ["resource"],
            registry=registry,
        )

    def refresh(self, sources: Iterable[Source]) -> None:
        """Say how well each source is kept up."""
        self._up.clear()
        self._stale_seconds.clear()
        for source in sources:
            stale = source.stale_seconds
            self._up.labels(source.resource).set(stale is None)
            self._stale_seconds.labels(source.resource).set(stale or 0)

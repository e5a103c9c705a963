"""The places of members that a gang has lost: kept for a while, until their owners have made them anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from controller.core.workloads.pods import Pod
from controller.core.workloads.workload import Workload

KEPT: Final = 60
"""Seconds; 0: not at all."""


@dataclass(frozen=True, slots=True)
class KeptPlace:
    """What a pod held, as it was admitted last, and until when it is kept, epoch seconds."""

    pod: Pod
    until: float


@dataclass(frozen=True, slots=True)
class KeptPlaces:
    """Those of one gang, and what waits of it now, in order."""

    places: Sequence[KeptPlace]
    workloads: Sequence[Workload]

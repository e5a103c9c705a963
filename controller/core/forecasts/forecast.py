"""What is expected to end when: all that the decision knows of the future. There is one while a queue backfills."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from controller.core.forecasts.expected_ends import ExpectedEnds
from controller.core.forecasts.run_history import RunHistory
from controller.core.workloads.workload import WorkloadClass

USUAL_DEPTH = 4
"""Each takes a tenth to a fifth of a decision more where a thousand queues backfill, share fairly and preempt."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """`ends` has what every admitted pod holds, `history` how long pods took before.

    `outrun`: by namespace of which nothing is believed that its pods say, one that runs longer than it stated.

    So many workloads as `depth` have a reservation at most, the first in order; what later ones take is compared with
    each. The name is that of PBS's `backfill_depth`.
    """

    ends: ExpectedEnds
    history: RunHistory
    depth: int
    outrun: Mapping[str, str] = field(default_factory=dict)

    def runtime(self, kind: WorkloadClass) -> int:
        """Return the seconds that workloads of a class are expected to run; 0: nobody knows.

        A gang takes as long as the longest of its pods.
        """
        if kind.runtime:
            return kind.runtime
        each = [self.history.expected(kind.queue, one.shape.requests) for one in kind.pod_sets]
        return max(each) if all(each) else 0

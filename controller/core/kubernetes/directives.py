"""What a pod, or a policy for pods, says about where to run: every field of a pod's spec that a policy may set.

Node affinity, selectors and tolerations are understood here. Pod affinity is not: its terms stay JSON as the
apiserver writes it, compared as it stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Final

from controller.core.kubernetes.labels import Term
from controller.core.kubernetes.taints import Toleration

DEFAULT_SCHEDULER: Final = "default-scheduler"
"""What the apiserver writes into pods that name no scheduler, before any webhook sees them."""

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


class PodAffinity(StrEnum):
    """The two affinities to other pods, as fields of core/v1 Affinity."""

    TOGETHER = "podAffinity"
    APART = "podAntiAffinity"


PodTermList = tuple[PodAffinity, str]
"""One of four lists of pod affinity terms: which affinity, and REQUIRED or PREFERRED."""

POD_TERM_LISTS: Final[tuple[PodTermList, ...]] = tuple(
    (affinity, part) for affinity in PodAffinity for part in (REQUIRED, PREFERRED)
)


@dataclass(frozen=True, slots=True)
class Preferred:
    """core/v1 PreferredSchedulingTerm."""

    weight: int
    term: Term


@dataclass(frozen=True, slots=True, kw_only=True)
class Directives:
    """Empty means that nothing is said. Tolerations have their operator written out.

    `required` None: no required node affinity; an empty tuple of terms, like an empty term, matches no node.
    `scheduler_name` of a pod is empty when it names none or the default one: the two cannot be told apart.
    """

    node_selector: tuple[tuple[str, str], ...] = ()
    node_name: str = ""
    scheduler_name: str = ""
    tolerations: tuple[Toleration, ...] = ()
    required: tuple[Term, ...] | None = None
    preferred: tuple[Preferred, ...] = ()
    pod_terms: Mapping[PodTermList, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)

    def but(self, **changes: Any) -> Directives:
        """Return these with changes. `dataclasses.replace` takes twice as long, and a review needs several."""
        return Directives(**{name: changes.get(name, getattr(self, name)) for name in _DIRECTIVES})


_DIRECTIVES: Final = tuple(one.name for one in fields(Directives))

"""Usage that is forgotten by halves: of each LocalQueue, and user in it, what pods took, the longer ago the less.

Mirrors Kueue's admission fair sharing: consumed = consumed * (1 - a) + current * a, a = 1 - 0.5 ^ (dt / half-life).
There dt is the time between samples; here a sum is brought forward whenever it is read or changed. All is integer
arithmetic of fixed precision, so that everybody who counts comes to the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Final

from controller.core.budgets.budget import price_unit
from controller.core.kubernetes.amounts import Requests
from controller.core.kubernetes.quota_resources import AS_REQUESTED, QuotaResources

AHEAD_SECONDS: Final = 300
"""Who is admitted counts at once with what its usage comes to in this time: Kueue's entry penalty, of one sample."""

_BITS: Final = 64
_ONE: Final = 1 << _BITS
_NANO: Final = 10**9
_WHOLE: Final = 125 * 2**30
"""The least number that thousandths of a core and bytes of a GiB both divide."""
_UNIT: Final = _NANO * _WHOLE


def _roots() -> tuple[int, ...]:
    """1/2 to the power of 1/2, 1/4, 1/8 and so on."""
    roots = [isqrt(_ONE * _ONE // 2)]
    while len(roots) < _BITS:
        roots.append(isqrt(roots[-1] << _BITS))
    return tuple(roots)


_ROOTS: Final = _roots()


@lru_cache(maxsize=4096)
def _left(seconds: int, half_life: int) -> int:
    """Return what is left of _ONE."""
    halves, rest = divmod(seconds, half_life)
    factor = _ONE
    for root in _ROOTS:
        rest *= 2
        if rest >= half_life:
            rest -= half_life
            factor = factor * root >> _BITS
        if not rest:
            break
    return factor >> halves


def mixed(consumed: int, current: int, seconds: int, half_life: int) -> int:
    """Return what a sum becomes in so many seconds of this usage."""
    return current + ((consumed - current) * _left(seconds, half_life) >> _BITS)


@dataclass(frozen=True, slots=True)
class PastUsageRule:
    """`half_life` in seconds; `weights` by resource in billionths, of a core, a GiB, or one of anything else.

    What is not listed counts 1; `pods`, and what quota leaves out by `resources`, count nothing. `by_namespace`: all
    LocalQueues of a namespace count as one, so that nobody gains by making more of them. `by_user`: the users of each
    are counted, too.
    """

    half_life: int
    weights: Mapping[str, int] = field(default_factory=dict)
    by_namespace: bool = True
    by_user: bool = False
    resources: QuotaResources = AS_REQUESTED

    @property
    def key(self) -> str:
        """What sums are sums of: those of another key are of no use."""
        return ",".join(f"{resource}={weight}" for resource, weight in sorted(self.weights.items())) or "1"

    def rate(self, requests: Requests) -> int:
        """Return what a pod counts for while it is admitted."""
        return sum(amount * self._weight(one) * (_WHOLE // price_unit(one)) for one, amount in requests)

    def _weight(self, resource: str) -> int:
        return self.weights.get(resource, 0 if self.resources.needs_no_quota(resource) else _NANO)


def cores(amount: int) -> str:
    """Write a sum as people read it, in cores or what counts like one, to three decimals, rounded down."""
    whole, rest = divmod(amount * 1000 // _UNIT, 1000)
    return f"{whole}{f'.{rest:03}'.rstrip('0').rstrip('.')}"


Whose = tuple[str, ...]
"""ClusterQueue and namespace, and where LocalQueues are counted by themselves the LocalQueue."""

Share = tuple[bool, Fraction]
"""Whether it has no weight, and its usage divided by that: the less the sooner."""

_EQUAL: Final[Share] = (False, Fraction(0))


@dataclass(frozen=True, slots=True)
class PastUsage:
    """One queue's: what it consumed by now, what it uses now, its weight, and the rule; so of each of its `users`.

    Without `users` they are not told apart. `whose`: those of the same are one sum, whatever their weights are.
    """

    rule: PastUsageRule
    consumed: int = 0
    current: int = 0
    weight: Fraction = Fraction(1)
    users: Mapping[str, PastUsage] | None = None
    whose: Whose = ()

    def share(self, more: int = 0) -> Share:
        """Return what the queue is ordered by, the less the sooner; `more` was admitted just now.

        Of weight 0: after all that have one.
        """
        ahead = mixed(self.consumed, self.current + more, AHEAD_SECONDS, self.rule.half_life)
        return (False, Fraction(ahead) / self.weight) if self.weight else (True, Fraction(ahead))

    def share_of(self, user: str, more: int = 0) -> Share:
        """Return what a user is ordered by among those of the queue."""
        if self.users is None:
            return _EQUAL
        return self.users.get(user, PastUsage(self.rule)).share(more)

"""The modes of policies: what is enforced, what is told to whom creates a pod, and what to the audit log alone.

A policy in mode Warn or Audit allows and demands nothing. What would change if it did is found by merging once more
as if: the policies in mode Enforce and Warn, then those in mode Audit besides. What a review makes of it: `outcome`.

A faulty policy counts as one that is there, at the levels of its mode: were it as if it did not exist, the fault of the
only policy would switch judging off for the whole cluster.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from controller.core.pod_policies.policies import Mode
from controller.core.scheduling_policies.merging import Merged, merge
from controller.core.scheduling_policies.policy import Faulty, MergeOption, Policy

_ORDER: Final = (Mode.ENFORCE, Mode.WARN, Mode.AUDIT)


@dataclass(frozen=True, slots=True)
class Level:
    """The policies up to a mode, as one. `merged` None: there are some, and the account may use no valid one of them.

    `faulty` are the names of the faulty ones that the account may use; of all that are faulty where it may use none at
    all, for nothing would be gained by a right to use those.
    """

    mode: Mode
    merged: Merged | None
    faulty: tuple[str, ...] = ()


Levels = tuple[Level, ...]


def levels(
    policies: Iterable[Policy], usable: Collection[str], option: MergeOption, faulty: Iterable[Faulty] = ()
) -> Levels:
    """Return the levels at which there is something to do for an account; none where the cluster has no policy.

    `policies` are all valid ones that there are and `faulty` the others, `usable` the names of those, of either, that
    the account may use. The result depends on nothing else, so it may be kept for as long as they stay the same.
    """
    every, broken = tuple(policies), tuple(faulty)
    found: list[Level] = []
    before: tuple[Policy, ...] = ()
    for number, mode in enumerate(_ORDER, start=1):
        here = [policy for policy in every if policy.mode in _ORDER[:number]]
        chosen = tuple(policy for policy in here if policy.name in usable)
        broken_here = sorted(one.name for one in broken if one.mode in _ORDER[:number])
        if not (here or broken_here) or (found and chosen == before):
            continue
        own = tuple(name for name in broken_here if name in usable)
        if chosen:
            found.append(Level(mode, merge(chosen, option), own))
        else:
            found.append(Level(mode, None, own or tuple(broken_here)))
        before = chosen
    return tuple(found)


def enforced(at: Levels) -> Level | None:
    """Return the level of what is enforced; None where nothing is."""
    return at[0] if at and at[0].mode is Mode.ENFORCE else None

"""The modes of policies: what is enforced, what is told to whom creates a pod, and what to the audit log alone.

A policy in mode Warn or Audit allows and demands nothing. What would change if it did is found by merging once more
as if: the policies in mode Enforce and Warn, then those in mode Audit besides. What a review makes of it: `outcome`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from controller.core.pod_policies import Mode
from controller.core.scheduling_policies.merging import Merged, merge
from controller.core.scheduling_policies.policy import MergeOption, Policy

_ORDER: Final = (Mode.ENFORCE, Mode.WARN, Mode.AUDIT)


@dataclass(frozen=True, slots=True)
class Level:
    """The policies up to a mode, as one. `merged` None: there are some, and the account may use none of them."""

    mode: Mode
    merged: Merged | None


Levels = tuple[Level, ...]


def levels(policies: Iterable[Policy], usable: Collection[str], option: MergeOption) -> Levels:
    """Return the levels at which there is something to do for an account; none where the cluster has no policy.

    `policies` are all that there are, `usable` the names of those that the account may use. The result depends on
    nothing else, so it may be kept for as long as they stay the same.
    """
    every = tuple(policies)
    found: list[Level] = []
    before: tuple[Policy, ...] = ()
    for number, mode in enumerate(_ORDER, start=1):
        here = [policy for policy in every if policy.mode in _ORDER[:number]]
        chosen = tuple(policy for policy in here if policy.name in usable)
        if not here or (found and chosen == before):
            continue
        found.append(Level(mode, merge(chosen, option) if chosen else None))
        before = chosen
    return tuple(found)


def enforced(at: Levels) -> Level | None:
    """Return the level of what is enforced; None where nothing is."""
    return at[0] if at and at[0].mode is Mode.ENFORCE else None

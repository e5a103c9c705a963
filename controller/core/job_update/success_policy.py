"""Whether the success policy of a Job still fits its completions, which may change when it cannot.

Mirrors `validateSuccessPolicyRule` and `validateIndexesFormat` (k8s.io/kubernetes/pkg/apis/batch/validation).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from controller.core.pod_update.equality import Json
from controller.core.pod_update.violation import Violation, invalid, shown

_INDEX: Final = re.compile(r"[+-]?[0-9]{1,18}")
"""As Go's strconv.Atoi reads it."""


def violations(spec: Json) -> Iterator[Violation]:
    """Return what does not fit the completions of an Indexed Job."""
    completions = spec.get("completions")
    for number, rule in enumerate((spec.get("successPolicy") or {}).get("rules") or ()):
        if completions is not None:
            yield from _rule(f"spec.successPolicy.rules[{number}]", rule, completions)


def _rule(path: str, rule: Json, completions: int) -> Iterator[Violation]:
    indexes, count = rule.get("succeededIndexes"), rule.get("succeededCount")
    total = 0
    if indexes is not None:
        found = indexes_of(indexes, completions)
        if found is None:
            text = f"is {shown(indexes)}; must be indexes below {completions}, such as 0-2,4"
            yield invalid(f"{path}.succeededIndexes", text)
        total = found or 0
    if count is not None and count > completions:
        yield invalid(f"{path}.succeededCount", f"is {count}; must be at most {completions}, as many as completions")
    if count is not None and indexes is not None and count > total:
        yield invalid(f"{path}.succeededCount", f"is {count}; must be at most {total}, as many as succeededIndexes")


def indexes_of(text: str, completions: int) -> int | None:
    """Return how many indexes a text such as `0-2,4` names; None: it is malformed, or one is too large."""
    total, last = 0, None
    for interval in text.split(",") if text else ():
        limits = interval.split("-")
        if len(limits) > 2 or not all(_INDEX.fullmatch(one) for one in limits):
            return None
        first, end = int(limits[0]), int(limits[-1])
        is_in_order = (len(limits) == 1 or first < end) and (last is None or last < first)
        if max(first, end) >= completions or not is_in_order:
            return None
        total, last = total + end - first + 1, end
    return total

"""Where our verdict on an update and the oracle's differ, and the smallest pair that shows it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import orjson

from controller.core import job_update, pod_update
from tests.differential.oracle import Json, Oracle, Pair, Unjudged, Verdict
from tests.support.kubernetes import MINOR

_ROUND = 400
"""So many smaller pairs are tried at a time."""

Path = tuple[str | int, ...]


def our_verdict(old: Json, new: Json, *, minor: int = MINOR) -> Verdict:
    """May_change's violations in the oracle's form, of the Kubernetes that the tests run on: of pods, or of Jobs."""
    may_change = job_update.may_change if old.get("kind") == "Job" else pod_update.may_change
    return tuple(sorted({(violation.path, violation.cause.value) for violation in may_change(old, new, minor=minor)}))


def disagreements(oracle: Oracle, pairs: Sequence[Pair]) -> list[Pair]:
    """Those of the pairs on which we and the oracle differ; what it cannot judge counts."""
    verdicts = oracle.judge(pairs)
    return [pair for pair, theirs in zip(pairs, verdicts, strict=True) if theirs != our_verdict(*pair)]


def report(oracle: Oracle, pair: Pair) -> str:
    """The pair made as small as can be while the same faults are missed or made up, with both verdicts."""

    def differences(pairs: Sequence[Pair]) -> list[frozenset[tuple[str, str]]]:
        """What only one of the two finds; nothing where the oracle cannot judge."""
        return [
            frozenset() if isinstance(theirs, Unjudged) else frozenset(theirs) ^ frozenset(our_verdict(*one))
            for one, theirs in zip(pairs, oracle.judge(pairs), strict=True)
        ]

    (wanted,) = differences([pair])
    if wanted:
        pair = minimised(pair, lambda smaller: [found == wanted for found in differences(smaller)])
    (theirs,), ours = oracle.judge([pair]), our_verdict(*pair)
    shown = "\n".join(f"{name}: {orjson.dumps(pod).decode()}" for name, pod in zip(("old", "new"), pair, strict=True))
    return f"{shown}\napiserver: {theirs or 'legal'}\nmay_change: {ours or 'legal'}"


def minimised(pair: Pair, is_wanted: Callable[[Sequence[Pair]], list[bool]]) -> Pair:
    """Leave out of both pods, or of one, whatever can be left out so that the pair is still wanted."""
    found = True
    while found:
        found = False
        smaller = list(_smaller(pair))
        for start in range(0, len(smaller), _ROUND):
            tried = smaller[start : start + _ROUND]
            wanted = [one for one, is_ in zip(tried, is_wanted(tried), strict=True) if is_]
            if wanted:
                pair, found = wanted[0], True
                break
    return pair


def _smaller(pair: Pair) -> Iterator[Pair]:
    """Each pair with one thing less, large things first."""
    paths = sorted({*_paths(pair[0]), *_paths(pair[1])}, key=lambda path: (len(path), str(path)))
    for path in paths:
        for sides in ((0, 1), (0,), (1,)):
            smaller = copy.deepcopy(pair)
            if all(_remove(smaller[side], path) for side in sides):
                yield smaller


def _paths(value: Any, path: Path = ()) -> Iterator[Path]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        # without these nothing can be decoded
        if (*path, key) not in (("apiVersion",), ("kind",)):
            yield (*path, key)
            yield from _paths(inner, (*path, key))


def _remove(document: Any, path: Path) -> bool:
    try:
        for token in path[:-1]:
            document = document[token]
        del document[path[-1]]
    except (KeyError, IndexError, TypeError):
        return False
    return True

"""The pairs that stay: `corpus.jsonl`, one a line, with the apiserver's verdict. They are judged without Go too.

`python -m tests.differential.corpus [COUNT]` looks at so many new pairs, and adds for each kind of fault that it
lacks the smallest pair that shows it, long ones left out. Vectors written by hand have a name that says what holds.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

import orjson

from controller.sandbox.progress import Progress
from tests.differential import oracle
from tests.differential.agreement import minimised
from tests.differential.oracle import Json, Oracle, Pair, Verdict
from tests.differential.pairs import pairs

FILE = Path(__file__).parent / "corpus.jsonl"
_BATCH = 2_500
_LONGEST = 20_000

Kind = tuple[str, str]
"""A fault with the numbers left out of its path."""


@dataclass(frozen=True)
class Case:
    """One line of the corpus."""

    name: str
    verdict: Verdict
    old: Json
    new: Json


def cases() -> list[Case]:
    """All cases, in the file's order."""
    read = (orjson.loads(line) for line in FILE.read_bytes().splitlines())
    return [Case(**{**one, "verdict": tuple((field, cause) for field, cause in one["verdict"])}) for one in read]


def kinds(verdict: Verdict) -> Iterator[Kind]:
    """The faults of a verdict, wherever in a list they were found."""
    return ((re.sub(r"\[\d+\]", "[]", field), cause) for field, cause in verdict)


def _grow(running: Oracle, count: int) -> list[Case]:
    known = {kind for case in cases() for kind in kinds(case.verdict)}
    random, added = Random(), []  # noqa: S311 - cases, not secrets
    for _ in range(0, count, _BATCH):
        batch = list(pairs(random, _BATCH))
        for pair, verdict in zip(batch, running.judge(batch), strict=True):
            assert isinstance(verdict, tuple), verdict
            for kind in set(kinds(verdict)) - known:
                old, new = _smallest(running, pair, verdict, kind)
                (small,) = running.judge([(old, new)])
                assert isinstance(small, tuple), small
                known |= set(kinds(small))
                added.append(Case(f"{kind[0]} {kind[1]}", small, old, new))
    return added


def _smallest(running: Oracle, pair: Pair, verdict: Verdict, kind: Kind) -> Pair:
    """Make it smaller without a fault that it did not have."""
    allowed = set(kinds(verdict))

    def is_wanted(smaller: Sequence[Pair]) -> list[bool]:
        found = [set(kinds(one)) if isinstance(one, tuple) else set() for one in running.judge(smaller)]
        return [kind in one and one <= allowed for one in found]

    return minimised(pair, is_wanted)


if __name__ == "__main__":
    with Oracle(oracle.ensure()) as judge:
        found = _grow(judge, int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
    lines = [line for line in (orjson.dumps(asdict(case)) + b"\n" for case in found) if len(line) < _LONGEST]
    with FILE.open("ab") as file:
        file.writelines(lines)
    Progress().say(f"{len(lines)} more cases are in {FILE.name}")

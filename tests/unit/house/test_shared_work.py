"""Cases shared among processes end: when all are judged, and when one is at fault, whatever the others still have."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from subprocess import run

import pytest

from tests.support.shared_work import Judge, judge_all

_MANY = 1_000_000
"""Batches whose answers no pipe has room for."""
_HANGS_AFTER = 60.0
"""Seconds; none of these takes more than a few."""


@contextmanager
def judging(at_fault: int) -> Iterator[Judge]:
    yield lambda number: (2, f"case {number}" if number == at_fault else "")


def main(at_fault: int, batches: int) -> int:
    return judge_all(2 * batches, batches, "cases", partial(judging, at_fault))


@pytest.mark.parametrize("at_fault", range(3))
def test_a_fault_ends_all_processes_with_more_to_say(at_fault: int) -> None:
    program = f"import sys; from {__name__} import main; sys.exit(main({at_fault}, {_MANY}))"
    done = run([sys.executable, "-c", program], capture_output=True, text=True, timeout=_HANGS_AFTER, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines()[-1] == f"case {at_fault}"


def test_all_cases_are_judged_where_none_is_at_fault(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(-1, 7) == 0
    assert capsys.readouterr().out.startswith("14 cases in ")


def test_fewer_cases_than_were_wanted_are_no_success() -> None:
    assert judge_all(15, 7, "cases", partial(judging, -1)) == 1

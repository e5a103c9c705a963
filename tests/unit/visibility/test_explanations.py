"""In every scenario each wait is explained, and what is said to admit a workload does."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from controller.core.decision.decide import decide
from controller.core.snapshot import Memo
from controller.visibility.changes.change import Cost
from controller.visibility.editing import Case
from controller.visibility.explanations import explain, remedies
from controller.visibility.remedies import proposals
from controller.visibility.trials import Trials, applied
from tests.corpus.plans import read
from tests.scenarios.model import load
from tests.scenarios.play import undecided
from tests.scenarios.test_scenarios import FILES

_HERE = Path(__file__).parent.parent.parent / "scenarios"
_ROOM = _HERE / "autoscaled" / "sums.yaml"


def cases(file: Path) -> list[Case]:
    """One that waits of each class, at the end of a scenario."""
    for stage in undecided(load(file)):
        stage.cluster.settle()
    snapshot = stage.cluster.cache.snapshot()
    return [Case(snapshot, run[0]) for run in snapshot.waiting.runs.values()]


def is_admitted(case: Case) -> bool:
    """Decide on everybody, without an index and without memory."""
    waiting = replace(case.snapshot.waiting, asked=None, preempts_in=None)
    plan = decide(replace(case.snapshot, waiting=waiting, memo=Memo()), limit=sys.maxsize)
    return not {one.uid for one in plan.admits}.isdisjoint(case.workload.pods)


@pytest.mark.parametrize("file", FILES[::4], ids=lambda file: str(file.relative_to(_HERE).with_suffix("")))
def test_what_is_said_to_admit_a_workload_does(file: Path) -> None:
    for case in cases(file):
        told = explain(case.snapshot, case.workload)
        assert msgspec.json.decode(msgspec.json.encode(told))["reason"] == told.reason
        for one in remedies(case):
            assert one.admits is is_admitted(applied(case, one.changes)), one.text


@pytest.mark.parametrize("file", FILES[1::8], ids=lambda file: str(file.relative_to(_HERE).with_suffix("")))
def test_an_index_that_is_reused_says_what_a_new_one_does(file: Path) -> None:
    for case in cases(file):
        trials = Trials(case)
        for one in proposals(case, trials.verdict(case)):
            changed = one.change.apply(case)
            assert trials.verdict(changed) == Trials(changed).verdict(changed), one.change.text


def test_the_cheapest_comes_first() -> None:
    costs = [[Cost[one.cost] for one in explain(it.snapshot, it.workload).remedies] for it in cases(_ROOM)]
    assert max(map(len, costs)) > 1
    assert all(one == sorted(one) for one in costs)


def test_who_holds_what_is_short_is_named_with_the_most_first() -> None:
    snapshot = read("live-backlog")
    (waits,) = [one for run in snapshot.waiting.runs.values() for one in run if one.name == "backlog/serve-2"]
    told = explain(snapshot, waits)
    (held,) = told.holders
    assert (held.flavor, held.resource) == ("backlog-spot", "cpu")
    assert [(row.name, row.amount, row.pods) for row in held.queues] == [("backlog-research", "6", 3)]
    assert [row.name for row in held.workloads] == ["backlog/first-0", "backlog/first-1", "backlog/first-2"]
    (short,) = told.flavors
    assert (short.needs, short.free, short.lacks, short.at) == ("3", "2", "1", "backlog-org")
    assert told.path == ("backlog-serving", "backlog-org")
    assert told.ahead == ("backlog/held", "backlog/serve-0", "backlog/serve-1")

"""Hundreds of decisions that a live controller made come out the same when they are made again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import orjson
import pytest

from controller.cli.main import run
from controller.core.decision.decide import decide
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Plan
from controller.replay import decision_log
from controller.replay.decision_log import read_log
from controller.replay.packing import packed, unpacked
from controller.replay.snapshot_file import SnapshotFileError
from controller.runtime.decision_recorder import DecisionRecorder
from tests.corpus.decisions import FEATURES, FILE, LEAST, decisions, features
from tests.support.builders import UNLIMITED, a_cache, a_node, a_pod
from tests.support.snapshots import changed

_EACH = 20


def a_decision() -> tuple[Snapshot, Plan]:
    """Two pods wait, of unlike classes, and one of them fits."""
    snapshot = a_cache(a_pod("first"), a_pod("large", priority=-1), nodes=[a_node(cpu="1")]).snapshot()
    return snapshot, decide(snapshot, limit=UNLIMITED)


def test_every_recorded_decision_comes_out_the_same() -> None:
    found = Counter[str]()
    count = 0
    for count, one in enumerate(decisions(), start=1):
        assert one.again() == one.plan, f"decision {count}"
        assert one.plan["admits"] or one.plan["evicts"], f"decision {count} is without effect"
        found.update(features(one))
    assert count >= LEAST
    assert {name: found[name] for name in FEATURES if found[name] < _EACH} == {}


def test_replay_says_that_all_are_as_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = tmp_path / "few.json.gz"
    few.write_bytes(packed(b"".join(unpacked(FILE.read_bytes()).splitlines(keepends=True)[:4])))
    assert run(["replay", str(few)]) == 0
    assert capsys.readouterr().out == "3 decisions: each comes out as it was recorded.\n"


def test_replay_shows_the_first_that_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head, *lines = unpacked(FILE.read_bytes()).splitlines(keepends=True)[:5]
    spoilt = orjson.loads(lines[2])
    spoilt["plan"]["complete"] = not spoilt["plan"]["complete"]
    lines[2] = orjson.dumps(spoilt) + b"\n"
    other = tmp_path / "other.json"
    other.write_bytes(head + b"".join(lines))
    assert run(["replay", str(other)]) == 1
    out = capsys.readouterr().out
    assert out.startswith("Decision 3, at ")
    assert "-complete: " in out
    assert "+complete: " in out
    assert run(["replay", str(other), "--pod", "a/b"]) == 2


def test_a_recorder_writes_what_has_effect_and_no_more(tmp_path: Path) -> None:
    file = tmp_path / "decisions.json.gz"
    recorder = DecisionRecorder(file, most=2)
    snapshot, plan = a_decision()
    recorder.take(snapshot, Plan((), {}, is_complete=True), UNLIMITED)
    assert not file.exists()
    for _ in range(3):
        recorder.take(snapshot, plan, UNLIMITED)
    read = list(read_log(unpacked(file.read_bytes())))
    assert len(read) == 2
    assert all(one.again() == one.plan for one in read)


def test_a_recorder_that_cannot_write_stops_nobody(tmp_path: Path) -> None:
    recorder = DecisionRecorder(tmp_path / "absent" / "decisions.json.gz", most=9)
    snapshot, plan = a_decision()
    recorder.take(snapshot, plan, UNLIMITED)
    assert list(tmp_path.iterdir()) == []


def test_what_a_controller_has_in_memory_is_recorded_too() -> None:
    snapshot, _ = a_decision()
    portion = changed(snapshot, asked=list(snapshot.waiting.runs)[1:], preempts_in={"team-a"})
    plan = decide(portion, limit=1)
    (read,) = read_log(decision_log.head() + decision_log.line(portion, plan, 1))
    assert list(read.snapshot.waiting.asked or ()) == list(portion.waiting.asked or ())
    assert (read.snapshot.waiting.preempts_in, read.limit) == ({"team-a"}, 1)
    assert read.again() == read.plan


def test_a_line_that_was_cut_off_is_left_out() -> None:
    snapshot, plan = a_decision()
    whole = decision_log.line(snapshot, plan, 1)
    assert len(list(read_log(decision_log.head() + whole + whole[: len(whole) // 2]))) == 1


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b'{"decisions":99}\n', "decisions of version 99"),
        (b'{"decisions":1}\n{}\n', "decision 1: not a recorded decision"),
        (b'{"decisions":"x"}\n', "not a file of recorded decisions"),
    ],
)
def test_a_file_that_is_none_is_refused(data: bytes, told: str) -> None:
    with pytest.raises(SnapshotFileError, match=told):
        list(read_log(data))

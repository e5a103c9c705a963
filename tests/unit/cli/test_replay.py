"""The command line of `penstock replay`: what it prints, and one line for whatever is no snapshot."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest
import yaml

from controller.cli.main import run
from controller.core.workloads.decisions import Plan
from controller.kube.clock import rfc3339
from controller.replay.packing import packed, unpacked
from tests.corpus.plans import read as read_snapshot
from tests.corpus.plans import snapshot_file

BACKLOG = str(snapshot_file("live-backlog"))
PREEMPTION = snapshot_file("live-preemption")
ODD: tuple[Any, ...] = (None, -1, 0, 1, 1e300, "", "x", [], {}, "1/0", True, 2**62)


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def replayed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(["replay", *arguments]) == 0
    return capsys.readouterr().out


def fault(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(["replay", *arguments]) == 1
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert shown.err.startswith("Error: ")
    return shown.err.removeprefix("Error: ").strip()


def from_stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_tables_say_who_comes_in_who_goes_and_who_waits(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line.split() for line in replayed(capsys, BACKLOG).splitlines()]
    assert ["4", "backlog/train-1", "backlog-research", "backlog-on-demand", "backlog-on-demand-0"] in lines
    assert ["QueueStopped", "1", "backlog/held", "LocalQueue", "closed", "has", "stopPolicy", "Hold"] in lines
    assert lines[-1][2:] == ["4", "admitted,", "0", "evicted,", "6", "waiting."]
    evicting = replayed(capsys, str(PREEMPTION))
    assert evicting.count(" Preempted ") == 3
    assert "ADMITTED" not in evicting
    assert [line.split()[:2] for line in evicting.splitlines() if "preempted" in line] == [["Preempting", "2"]]


@pytest.mark.parametrize(("form", "read"), [("json", orjson.loads), ("yaml", yaml.safe_load)])
def test_programs_get_every_pod(form: str, read: Any, capsys: pytest.CaptureFixture[str]) -> None:
    document = read(replayed(capsys, BACKLOG, "-o", form))
    assert (document["time"], document["complete"]) == (rfc3339(read_snapshot("live-backlog").now), True)
    assert document["admitted"][3] == {
        "pod": "backlog/train-1",
        "clusterQueue": "backlog-research",
        "flavors": ["backlog-on-demand"],
        "node": "backlog-on-demand-0",
    }
    assert document["reasons"] == {"ParentQueueLimit": 3, "NeverFits": 1, "QueueStopped": 1, "QueueNotFound": 1}
    (lost,) = (one for one in document["waiting"] if one["pod"] == "backlog/lost")
    assert lost == {
        "pod": "backlog/lost",
        "localQueue": "backlog/absent",
        "clusterQueue": None,
        "reason": "QueueNotFound",
        "message": "LocalQueue absent does not exist in namespace backlog",
    }
    evicted = read(replayed(capsys, str(PREEMPTION), "-o", form))["evicted"]
    assert [sorted(one) for one in evicted] == [["cause", "message", "pod"]] * 3


@pytest.mark.parametrize(
    ("pod", "text", "becomes"),
    [
        ("backlog/held", "waits (QueueStopped): LocalQueue closed has stopPolicy Hold", "Waiting"),
        ("backlog/serve-0", "would be admitted by ClusterQueue backlog-serving onto flavor backlog-spot", "Admitted"),
        ("backlog/first-0", "was admitted by ClusterQueue backlog-research onto flavor backlog-spot", "Unchanged"),
    ],
)
def test_one_pod_is_told_in_a_sentence(pod: str, text: str, becomes: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = replayed(capsys, BACKLOG, "--pod", pod)
    assert shown.startswith(f"{pod} {text}")
    assert shown.count("\n") == 1
    document = orjson.loads(replayed(capsys, BACKLOG, "--pod", pod, "-o", "json"))
    assert (document["pod"], document["becomes"]) == (pod, becomes)


@pytest.mark.parametrize(
    ("pod", "instead"),
    [
        ("held", "did you mean backlog/held?"),
        ("team-b/held", "did you mean backlog/held?"),
        ("backlog/serv-0", "did you mean backlog/serve-0?"),
        ("[red]nobody", "pods are named NAMESPACE/NAME"),
    ],
)
def test_a_pod_that_is_not_there_is_told_with_what_may_be_meant(
    pod: str, instead: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fault(capsys, BACKLOG, "--pod", pod) == f"{BACKLOG}: has no pod {pod}; {instead}"


def test_a_file_is_read_packed_and_plain_and_from_stdin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = PREEMPTION.read_bytes()
    plain = tmp_path / "plain"
    plain.write_bytes(unpacked(data))
    shown = replayed(capsys, str(PREEMPTION))
    assert replayed(capsys, str(plain)) == shown
    for given in (data, unpacked(data)):
        from_stdin(monkeypatch, given)
        assert replayed(capsys, "-") == shown


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "is empty; `penstock snapshot` writes what belongs there"),
        (packed(b""), "is empty; "),
        (b"\x00\xff\xfe" * 99, "not a snapshot of Penstock: JSON is malformed"),
        ("kind: Pod\nname: pød".encode(), "not a snapshot of Penstock: JSON is malformed"),
        (b'{"version": "\xff"}', "not a snapshot of Penstock: "),
        (b'{"version": 99}', "version 99: this Penstock reads versions 1 and 2; read it by its own"),
        (b'{"version":1,"now":' + b"[" * 100_000, "not a snapshot of Penstock: it is nested too deeply"),
        (PREEMPTION.read_bytes()[:-20], "not a snapshot of Penstock: the end of the gzip file is missing"),
        (packed(b"[]"), "not a snapshot of Penstock: Expected `object`, got `array`"),
    ],
)
def test_what_is_no_snapshot_is_one_line(
    content: bytes, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    assert fault(capsys, str(file)).startswith(f"{file}: {text}")
    from_stdin(monkeypatch, content)
    assert fault(capsys, "-").startswith(f"stdin: {text}")


def test_what_is_no_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fault(capsys, str(tmp_path)) == f"{tmp_path}: cannot be read: Is a directory"
    missing = tmp_path / "missing"
    assert fault(capsys, str(missing)) == f"{missing}: cannot be read: No such file or directory"


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for key, one in inner for place in places(one, (*at, key)))]


def spoilt(plain: Any, chance: Random) -> Any:
    """Put something odd in one place, or take what is there away."""
    *within, last = chance.choice(places(plain)[1:])
    for key in within:
        plain = plain[key]
    if chance.random() < 0.5:
        plain[last] = chance.choice(ODD)
    else:
        del plain[last]


def test_a_spoilt_file_ends_in_an_answer_or_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chance, codes = Random("changed"), []  # noqa: S311 - cases, not secrets
    data = unpacked(PREEMPTION.read_bytes())
    file = tmp_path / "changed.json"
    for _ in range(150):
        plain = orjson.loads(data)
        spoilt(plain, chance)
        file.write_bytes(orjson.dumps(plain))
        codes.append(run(["replay", str(file)]))
        assert capsys.readouterr().err.count("\n") == codes[-1], plain
    assert {0, 1} == set(codes)


def test_a_contradicting_file_is_told_with_the_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = orjson.loads(unpacked(PREEMPTION.read_bytes()))
    file = tmp_path / "changed.json"
    file.write_bytes(orjson.dumps({**plain, "pods": []}))
    text = fault(capsys, str(file))
    assert text.startswith(f"{file}: cannot be decided on: KeyError: ")
    assert text.endswith("the file contradicts itself, or else Penstock is at fault: report it, with the file")
    plain["workloads"][0]["kind"] = 99
    file.write_bytes(orjson.dumps(plain))
    assert "its parts contradict each other (IndexError: " in fault(capsys, str(file))


def test_the_compiled_image_says_where_a_file_can_be_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("controller.replay.snapshot_file.CAN_READ", False)
    assert fault(capsys, BACKLOG).endswith("reads no snapshots: read it in a checkout")


def test_a_decision_that_is_not_complete_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("controller.cli.replay.decide", lambda snapshot, *, limit: Plan((), {}, is_complete=False))
    assert "The controller would decide again at once" in replayed(capsys, BACKLOG)


class Interrupted(io.BytesIO):
    """Somebody presses Ctrl-C while it is read."""

    def read(self, *_: Any) -> bytes:
        raise KeyboardInterrupt


def test_ctrl_c_ends_it_with_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Interrupted()))
    assert run(["replay", "-"]) == 130
    assert capsys.readouterr().err.strip() == "interrupted"

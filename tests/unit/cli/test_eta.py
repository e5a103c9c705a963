"""The command line of `penstock eta`: what it prints, whom it takes, and what it refuses."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from controller.cli.main import run
from controller.core.kubernetes.owners import Job
from controller.core.queueing.effective import WrittenQueue
from controller.simulator.eta import Forecasts
from tests.support.builders import a_cluster_queue, a_pod, a_quota, a_released_pod, a_shape
from tests.support.simulated_worlds import NOW, a_job_pod, a_world
from tests.support.snapshot_files import a_file

THREE = a_shape(cpu="3")
A_JOB = Job(uid="job", namespace="default", name="train", parallelism=2, completions=2)


@pytest.fixture
def file(tmp_path: Path) -> str:
    """One pod runs for a stated hour; two of a Job wait for it, and one waits in vain."""
    runs = a_released_pod("runs", THREE, node="node-1", started=int(NOW) - 100, expected_runtime=3600)
    waiting = [
        a_job_pod(A_JOB, f"train-{number}", shape=THREE, created=NOW - 90 + number, expected_runtime=3600)
        for number in range(2)
    ]
    world = a_world(runs, *waiting, a_pod("large", a_shape(cpu="20")), jobs=[A_JOB])
    return a_file(
        tmp_path, replace(world, queues={"team-a": WrittenQueue(a_cluster_queue("team-a", a_quota(cpu="4")))})
    )


def test_a_table_says_when_and_in_which_range(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["eta", "--snapshot", file]) == 0
    printed = capsys.readouterr().out
    _, first, second, last = printed.splitlines()
    assert first.split()[:2] == ["default", "train-0"]
    assert first.split()[-2].startswith("2026-05-28T21:")
    assert second.split()[1] == "train-1"
    assert re.fullmatch(r"default +large +unknown +- +- +NeverFits: flavor spot: needs 20 cpu.*", last)


def test_programs_get_times(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["eta", "--snapshot", file, "-o", "yaml", "pod/train-0", "pod/large"]) == 0
    train, large = yaml.safe_load(capsys.readouterr().out)
    assert (train["namespace"], train["name"], train["localQueue"]) == ("default", "train-0", "main")
    start = train["start"]
    assert start["forecastAt"] < start["p20"] <= start["p50"] <= start["p90"] < "2026-05-28T21:30:00Z"
    assert large["start"]["unknown"].startswith("NeverFits: ")


def test_a_job_stands_for_its_pods(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["eta", "--snapshot", file, "-o", "yaml", "job/train"]) == 0
    assert [one["name"] for one in yaml.safe_load(capsys.readouterr().out)] == ["train-0", "train-1"]


def test_the_seed_is_the_draw(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for seed in ("1", "1", "2"):
        assert run(["eta", "--snapshot", file, "-o", "json", "--seed", seed, "--runs", "3", "train-0"]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] != printed[2]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["larger"], "pod/larger: nothing of that name is in a queue; did you mean pod/large?"),
        (["job/tran"], "job/tran: nothing of that name is in a queue; did you mean job/train?"),
        (
            ["pod/large", "-n", "other"],
            "pod/large: nothing of that name is in a queue in namespace other; penstock pods",
        ),
    ],
)
def test_who_is_not_there_is_said(
    file: str, arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["eta", "--snapshot", file, *arguments]) == 1
    assert text in capsys.readouterr().err


def test_what_is_no_snapshot_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"{}")
    assert run(["eta", "--snapshot", str(file)]) == 1
    assert capsys.readouterr().err.startswith(f"Error: {file}: not a snapshot of Penstock: ")


def test_an_interrupt_shows_what_is_known_by_then(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, count = Forecasts.run, 0

    def interrupted(forecasts: Forecasts, seed: str) -> None:
        nonlocal count
        count += 1
        if count == 3:
            raise KeyboardInterrupt
        plain(forecasts, seed)

    monkeypatch.setattr(Forecasts, "run", interrupted)
    assert run(["eta", "--snapshot", file, "train-0"]) == 0
    printed = capsys.readouterr()
    assert "interrupted after 2 of 20 simulations" in printed.err
    assert "train-0" in printed.out
    monkeypatch.setattr(Forecasts, "run", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    assert run(["eta", "--snapshot", file]) == 130

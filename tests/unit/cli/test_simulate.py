"""The command line of `penstock simulate`: tables, documents, Jobs of people, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from controller.cli.main import run
from controller.core.queueing.effective import WrittenQueue
from controller.simulator.comparing import Comparison
from tests.support.builders import a_cluster_queue, a_flavor, a_node, a_pod, a_quota, a_shape
from tests.support.simulated_worlds import NOW, a_world
from tests.support.snapshot_files import a_file

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 2
  completions: 2
  template:
    metadata:
      labels: {penstock.dev/queue-name: main}
      annotations: {penstock.dev/expected-runtime: 1h}
    spec:
      containers: [{name: main, resources: {requests: {cpu: "2"}}}]
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    """Four pods of 2 cpu that state an hour, where a quota of 4 cpu lets two run at a time, on a node of 8."""
    pods = [a_pod(f"pod-{n}", a_shape(cpu="2"), created=NOW - 600 + n, expected_runtime=3600) for n in range(4)]
    queue = WrittenQueue(a_cluster_queue("team-a", a_quota(cpu="4")))
    world = a_world(*pods, nodes=[a_node(cpu="8")], queues=[queue], flavors=[a_flavor(price={"cpu": 10**9})])
    return a_file(tmp_path, world)


def test_before_and_after_stand_side_by_side(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "150")
    assert run(["simulate", file, "--change", "quota:team-a/spot/cpu=+4", "--runs", "2"]) == 0
    printed = capsys.readouterr().out
    queue = next(line for line in printed.splitlines() if line.split()[:1] == ["team-a"])
    assert " -> 10m" in queue
    assert "PREEMPTED" not in printed
    assert "COST" in printed
    assert printed.endswith("At 2026-05-28T20:26:40Z: 2 simulations.\n")


def test_words_of_headings_stay_whole(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert run(["simulate", file, "--change", "quota:team-a/spot/cpu=+4", "--runs", "1"]) == 0
    headings = capsys.readouterr().out.partition("team-a")[0]
    assert {"CLUSTERQUEUE", "MEDIAN", "WAIT", "P90", "STARTED", "WAITING", "COST"} < set(headings.split())


def test_programs_get_both(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["simulate", file, "--change", "nodes:spot=+1", "--change", "quota:team-a/spot/cpu=8", "-o", "yaml"]
    assert run([*arguments, "--runs", "1", "--hours", "12", "--resolution", "10"]) == 0
    found = yaml.safe_load(capsys.readouterr().out)
    before, after = (found[name]["clusterQueues"]["team-a"] for name in ("before", "after"))
    assert before["median"] > after["median"]
    assert (after["started"], after["waiting"], after["ended"]) == (4, 0, 4)
    assert {one["flavor"] for one in found["after"]["utilisation"]} == {"spot"}


def test_without_a_change_there_is_what_is(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", file, "--runs", "1"]) == 0
    printed = capsys.readouterr().out
    assert "->" not in printed
    assert "Nothing was changed: see --change and -f." in printed


def test_a_job_of_mine_is_told_when_it_would_run(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = tmp_path / "job.yaml"
    manifest.write_text(JOB)
    assert run(["simulate", file, "-f", str(manifest), "--runs", "2"]) == 0
    assert "Job default/train: 4 of 4 of its first pods start, from " in capsys.readouterr().out
    assert run(["simulate", file, "-f", str(manifest), "--runs", "1", "--hours", "0.1"]) == 0
    assert "Job default/train: none of its first 2 pods starts in this time." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["--change", "quota:none/spot/cpu=1"], "Error: --change quota:none/spot/cpu=1: there is no ClusterQueue none"),
        (["--change", "nothing"], "Error: --change 'nothing' is no change; write one of quota:"),
        (["-f", "JOB"], "job.yaml: document 1: is a Pod; write a Job of batch/v1"),
    ],
)
def test_what_cannot_be_changed_is_one_line(
    file: str, arguments: list[str], fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = tmp_path / "job.yaml"
    manifest.write_text("apiVersion: v1\nkind: Pod\n")
    assert run(["simulate", file, *(str(manifest) if one == "JOB" else one for one in arguments)]) == 1
    printed = capsys.readouterr().err
    assert fault in printed
    assert len(printed.splitlines()) == 1


def test_a_trace_is_what_comes(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("submit,seconds,cpu,user\n0,60,2,ann\n30,60,2,ann\n")
    arguments = ["simulate", file, "--runs", "1", "-o", "yaml", "--trace", str(trace)]
    assert run([*arguments, "--trace-queue", "default/main"]) == 0
    found = yaml.safe_load(capsys.readouterr().out)["before"]
    assert (found["clusterQueues"]["team-a"]["ended"], found["users"]["ann"]["started"]) == (6, 2)
    assert run(arguments) == 1
    assert f"Error: {trace}: queue '': name a LocalQueue as NAMESPACE/NAME" in capsys.readouterr().err
    assert run([*arguments[:-1], str(tmp_path / "none.swf")]) == 1
    assert "No such file" in capsys.readouterr().err
    assert run(["simulate", file, "--trace-queue", "default/main"]) == 2


def test_a_file_of_version_1_keeps_its_queues(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(Path(__file__).parents[2] / "corpus" / "live-backlog.json.gz")
    assert run(["simulate", file, "--runs", "1", "--hours", "1"]) == 0
    printed = capsys.readouterr()
    assert "is of version 1: windows of queues are taken to stay as they were" in printed.err
    assert "No runtime is known for backlog/" in printed.out


def test_an_interrupt_shows_what_is_known_by_then(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, count = Comparison.steps, 0

    def interrupted(comparison: Comparison, seed: str) -> Iterator[float]:
        nonlocal count
        count += 1
        if count % 2 == 0:
            raise KeyboardInterrupt
        return plain(comparison, seed)

    monkeypatch.setattr(Comparison, "steps", interrupted)
    assert run(["simulate", file]) == 0
    printed = capsys.readouterr()
    assert "interrupted after 1 of 5 simulations" in printed.err
    assert "1 simulation." in printed.out
    count = 1
    assert run(["simulate", file]) == 130

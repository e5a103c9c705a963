"""`penstock simulate --trace`: files of Kueue's generator, and queues that a trace names and nobody has made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from controller.cli.main import run
from controller.core.queueing.effective import WrittenQueue
from tests.support.builders import a_cluster_queue, a_local_queue, a_quota
from tests.support.simulated_worlds import a_world
from tests.support.snapshot_files import a_file

CONFIG = """
cohorts:
- className: team
  count: 1
  queuesSets:
  - className: cq
    count: 1
    nominalQuota: 20
    borrowingLimit: 100
    workloadsSets:
    - count: 3
      creationIntervalMs: 60000
      workloads:
      - {className: small, runtimeMs: 30000, request: 1}
"""


@pytest.fixture
def config(tmp_path: Path) -> str:
    file = tmp_path / "generator.yaml"
    file.write_text(CONFIG)
    return str(file)


def test_workloads_of_kueues_generator_come_to_its_queues(
    config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "cq-0-0-team-0"
    queue = WrittenQueue(a_cluster_queue(name, a_quota(cpu="4")))
    world = replace(a_world(queues=[queue], locals_=[a_local_queue(name, name, namespace=name)]), namespaces={name: {}})
    arguments = ["simulate", a_file(tmp_path, world), "--runs", "1", "-o", "yaml", "--trace", f"kueue:{config}"]
    assert run(arguments) == 0
    found = yaml.safe_load(capsys.readouterr().out)["before"]
    assert (found["clusterQueues"][name]["ended"], found["users"]["small"]["started"]) == (3, 3)


def test_all_of_it_can_come_to_one_queue(config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["simulate", a_file(tmp_path, a_world()), "--runs", "1", "-o", "yaml", "--trace", f"kueue:{config}"]
    assert run([*arguments, "--trace-queue", "default/main"]) == 0
    assert yaml.safe_load(capsys.readouterr().out)["before"]["clusterQueues"]["team-a"]["ended"] == 3


def test_a_queue_that_does_not_exist_is_named(config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["simulate", a_file(tmp_path, a_world()), "--trace", f"kueue:{config}"]
    assert run(arguments) == 1
    told = capsys.readouterr().err
    assert f"Error: {config}: there is no LocalQueue cq-0-0-team-0/cq-0-0-team-0; " in told
    assert run([*arguments, "--trace-queue", "default/none"]) == 1
    assert "there is no LocalQueue default/none; " in capsys.readouterr().err


def test_topologies_are_said_not_to_be_simulated(
    config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(config).write_text(CONFIG.replace("request: 1", "request: 1, podCount: 2, tasLevel: rack"))
    arguments = ["simulate", a_file(tmp_path, a_world()), "--runs", "1", "--trace", f"kueue:{config}"]
    assert run([*arguments, "--trace-queue", "default/main"]) == 0
    assert "topologies are not simulated" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "must be one document of YAML, and has 0"),
        ("a: 1\n---\nb: 1\n", "must be one document of YAML, and has 2"),
        ("a: [\n", "not YAML: "),
        ("cohorts: 1\n", "is no configuration of Kueue's generator: Expected `array`, got `int` - at `$.cohorts`"),
        (CONFIG.replace("request: 1", "request: many"), "a job asks for {'cpu': 'many'}: "),
    ],
)
def test_what_cannot_be_read_is_said_with_its_file(
    text: str, fault: str, config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(config).write_text(text)
    assert run(["simulate", a_file(tmp_path, a_world()), "--trace", f"kueue:{config}"]) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"Error: {config}: ")
    assert fault in told


def test_a_byte_order_mark_is_no_part_of_a_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("submit,seconds,cpu\n0,10,1\n", encoding="utf-8-sig")
    arguments = ["simulate", a_file(tmp_path, a_world()), "--runs", "1", "-o", "yaml", "--trace", str(trace)]
    assert run([*arguments, "--trace-queue", "default/main"]) == 0
    assert yaml.safe_load(capsys.readouterr().out)["before"]["clusterQueues"]["team-a"]["ended"] == 1

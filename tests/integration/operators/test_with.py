"""`penstock sandbox up --with`: the operators are programs of the sandbox like its own."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from controller.sandbox.operators import OPERATORS
from controller.sandbox.process import ProcessId
from tests.support.eventually import eventually
from tests.support.sandbox import CommandLine

pytestmark = pytest.mark.integration

PROGRAMS = {operator.program for operator in OPERATORS}


@pytest.fixture
def penstock(tmp_path: Path) -> Iterator[CommandLine]:
    line = CommandLine(tmp_path)
    yield line
    line.run("sandbox", "down", "--all")


async def test_operators_are_shown_logged_and_stopped(penstock: CommandLine) -> None:
    up = penstock.run("sandbox", "up", "--nodes", "0", "--with", "training,ray")
    assert (up.code, "KubeRay v1.5.0, Kubeflow's training operator v1.8.1 at" in up.out) == (0, True), up
    (report,) = orjson.loads(penstock.run("sandbox", "status", "--output", "json").out)
    assert report["operators"] == ["ray", "training"]
    assert set(report["components"]) > PROGRAMS
    assert set(report["components"].values()) == {"ok"}
    assert "7 ok, with ray, training" in penstock.run("sandbox", "status").out
    assert {log.stem for log in (penstock.folder("default") / "logs").glob("*-operator.log")} == PROGRAMS
    assert set(penstock.processes()) > PROGRAMS
    other = penstock.run("sandbox", "up", "--nodes", "0", "--with", "ray")
    assert (other.code, "other settings" in other.err) == (1, True), other
    assert penstock.run("sandbox", "down").code == 0
    await eventually(lambda: not penstock.processes(), message="processes stay")


async def test_an_operator_that_dies_ends_the_sandbox(penstock: CommandLine) -> None:
    assert penstock.run("sandbox", "up", "--nodes", "0", "--with", "training").code == 0
    state = orjson.loads((penstock.folder("default") / "state.json").read_bytes())
    processes = {one["name"]: one["process"] for one in state["components"]}
    assert set(processes) & PROGRAMS == {"training-operator"}
    ProcessId(**processes["training-operator"]).send(signal.SIGKILL)
    await eventually(lambda: not penstock.processes(), message="processes stay")
    assert "training-operator was killed by SIGKILL" in penstock.run("sandbox", "status").out

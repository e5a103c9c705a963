"""`penstock simulate` by the visibility API: what is sent, what is not for it, and how its refusals are told."""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pytest
from rich.console import Console

from controller.cli.main import run
from controller.cli.simulate_by_api import body_of
from controller.cli.visibility_client import VisibilityClient
from controller.extension_api.bodies import LIMIT, read_sent
from controller.extension_api.pacing import Turns
from controller.extension_api.paths import ROOT
from controller.extension_api.queueing.registry import resources
from controller.extension_api.queueing.simulations import SimulationSpec
from controller.forking import Forks
from controller.kube.errors import Invalid, api_error
from controller.visibility.simulation_rows import OutcomeRow, QueueOutcomeRow, SimulationRow
from controller.visibility.start_forecasts import StartForecasts
from tests.support.builders import a_cache
from tests.support.fake_client import FakeClient, Outcome

JOB = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\nspec: {template: {spec: {}}}\n"
QUEUE = QueueOutcomeRow(started=2, waiting=0, median=60.0, p90=90.0, ended=2, preempted=0, evicted=0, cost=0.0)
ROW = SimulationRow("2026-11-27T12:00:00Z", OutcomeRow(3, {"team-a": QUEUE}, {}, (), {}, ("(hidden)", "(hidden)")))


def answer(row: SimulationRow = ROW) -> bytes:
    return msgspec.json.encode({"kind": "Simulation", "status": row})


def refusal(text: str) -> Invalid:
    message = f'Simulation.visibility.penstock.dev "" is invalid: {text}'
    body = orjson.dumps({"kind": "Status", "reason": "Invalid", "message": message})
    error = api_error(422, body)
    assert isinstance(error, Invalid)
    return error


class Api:
    """The API of a cluster, in place of that of the kubeconfig."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fake = FakeClient()
        monkeypatch.setattr("controller.cli.asking.visibility_client", self._client)

    @asynccontextmanager
    async def _client(self, *_: object) -> AsyncIterator[VisibilityClient]:
        yield VisibilityClient(self.fake.as_client, Console(quiet=True).status(""))

    def simulate(self, outcome: Outcome, *arguments: str) -> int:
        self.fake.will("POST", outcome)
        return run(["simulate", *arguments])

    @property
    def sent(self) -> Any:
        (call,) = self.fake.calls
        assert (call.method, call.path) == ("POST", f"{ROOT}/simulations")
        assert isinstance(call.body, bytes)
        return orjson.loads(call.body)


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    return Api(monkeypatch)


def test_the_controller_is_asked(api: Api, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = tmp_path / "job.yaml"
    manifest.write_text(JOB)
    given = ["--change", "nodes:spot=+1", "-f", str(manifest), "--runs", "3", "--seed", "7", "--hours", "2"]
    assert api.simulate(answer(), *given) == 0
    registry = resources(a_cache(), StartForecasts(), Turns(), Forks(1))
    resource = registry.find("simulations")
    assert resource is not None
    spec = read_sent(resource, SimulationSpec, orjson.dumps(api.sent)).spec
    (job,) = api.sent["spec"]["jobs"]
    assert job["metadata"] == {"name": "train"}
    assert spec == SimulationSpec(changes=("nodes:spot=+1",), jobs=(job,), hours=2.0, runs=3, seed=7)
    printed = capsys.readouterr()
    assert "team-a" in printed.out
    assert "USER" not in printed.out, "there are none for this viewer"
    assert "No runtime is known for (hidden):" in printed.out
    assert printed.out.endswith("At 2026-11-27T12:00:00Z: 3 simulations. Nothing was changed: see --change and -f.\n")
    assert printed.err == ""


def test_it_says_when_the_controller_made_fewer(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    assert api.simulate(answer(), "-o", "json", "--runs", "9") == 0
    printed = capsys.readouterr()
    assert orjson.loads(printed.out) == orjson.loads(answer())["status"]
    assert printed.err == "the controller had time for 3 of 9 simulations; --without-api makes all of them here\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("spec.changes[1]: lost:none: there is no flavor none", "--change lost:none: there is no flavor none"),
        ("spec.jobs[0]: is a Pod; write a Job of batch/v1", "job.yaml: document 1: is a Pod; write a Job of batch/v1"),
        (
            "spec.hours: too long; or a coarser spec.resolution",
            "--hours: too long; or a coarser --resolution; --",
        ),
    ],
)
def test_a_refusal_is_told_of_what_was_given(
    api: Api, text: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = tmp_path / "job.yaml"
    manifest.write_text(JOB)
    assert api.simulate(refusal(text), "-f", str(manifest)) == 1
    printed = capsys.readouterr().err
    assert told in printed
    assert len(printed.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["--without-api"],
        ["--backfill-depth", "2"],
        ["--trace", "jobs.csv"],
        ["--runs", "101"],
        ["--hours", "1000"],
        ["--resolution", "0.01"],
    ],
)
def test_what_the_api_does_not_have_is_done_here(
    api: Api, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    assert api.simulate(answer(), *arguments) == 1
    assert api.fake.calls == []


def test_a_file_is_not_for_the_api(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "none.json", "--without-api"]) == 2
    assert "leave one of them out" in capsys.readouterr().err
    assert run(["simulate", "none.json"]) == 1
    assert api.fake.calls == []


@pytest.mark.parametrize("job", [{"a": "x" * LIMIT}, {1: "a"}, {"a": {1, 2}}])
def test_what_cannot_be_sent_is_not_for_the_api(job: dict[Any, Any]) -> None:
    assert body_of({"jobs": [job]}) is None


def test_a_date_of_yaml_can_be_sent() -> None:
    assert body_of({"jobs": [{"a": dt.date(2026, 11, 27)}]}) is not None

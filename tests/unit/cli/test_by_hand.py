"""`penstock hold`, `release` and `top` without a cluster: usage, words and exit codes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest

from controller.cli.acting import Where
from controller.cli.main import run
from controller.core.keys import GATE, HELD
from controller.kube.errors import Forbidden, NotFound
from tests.support.fake_client import FakeClient

Shown = pytest.CaptureFixture[str]
ME = orjson.dumps({"status": {"userInfo": {"username": "jane"}}})


def a_pod(name: str = "x", **annotations: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "team-a", "uid": name, "annotations": annotations}
    return {"metadata": metadata, "spec": {"schedulingGates": [{"name": GATE}]}}


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> FakeClient:
    fake = FakeClient()

    @asynccontextmanager
    async def opened() -> AsyncIterator[FakeClient]:
        yield fake

    async def connect(_: Where) -> object:
        return opened()

    monkeypatch.setattr(Where, "connect", connect)
    return fake


@pytest.mark.parametrize(
    "command", ["hold job/", "release job/", "top job/", "drain clusterqueue/", "open clusterqueue/"]
)
def test_help_has_an_example(command: str, capsys: Shown) -> None:
    assert run([command.split()[0], "--help"]) == 0
    assert f"penstock {command}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["hold"], "Missing argument 'TARGET...'"),
        (["hold", "x"], "'x': write pod/NAME, group/NAME"),
        (["hold", "pod/x", "-n", "No"], "--namespace: 'No' is no name of a namespace"),
        (["hold", "pod/x", "-n", "a", "--reason", "x" * 201], "--reason: has 201 characters; write at most 200"),
        (["hold", "pod/x", "--as-group", "g"], "--as-group needs --as NAME too"),
        (["top", "queue/main"], "queue/main: a queue has no place among others; name pods, a group or a Job"),
        (["top", "--undo", "pod/x", "--reason", "why"], "--undo removes the record"),
        (["drain", "job/x"], "job/x: only queues are drained and opened: queue/NAME or clusterqueue/NAME"),
        (["open", "pod/x"], "pod/x: only queues are drained and opened"),
        (["release"], "name what is held (pod/NAME, job/NAME, queue/NAME, …), or say --all"),
        (["release", "pod/x", "--all"], "leave it out to undo a hold"),
        (["release", "pod/x", "--yes"], "undoing a hold asks nothing"),
    ],
)
def test_wrong_usage_is_told_and_changes_nothing(
    arguments: list[str], told: str, client: FakeClient, capsys: Shown
) -> None:
    assert run(arguments) == 2
    assert told in " ".join(capsys.readouterr().err.split())
    assert client.calls == []


def test_what_is_missing_is_told_and_the_rest_is_done(client: FakeClient, capsys: Shown) -> None:
    client.will("GET", NotFound(404, "", ""), orjson.dumps(a_pod()), Forbidden(403, "Forbidden", "no"))
    client.will("POST", ME).will("PATCH", b"{}")
    assert run(["hold", "pod/gone", "pod/x", "job/j", "-n", "team-a", "--reason", "audit"]) == 1
    shown = capsys.readouterr()
    assert shown.out == "pod team-a/x: held\n"
    assert shown.err == (
        "Error: pod/gone does not exist in namespace team-a; kubectl get pods -n team-a lists those that do\n"
        "Error: job/j: 403 Forbidden: no\n"
    )
    assert client.made("PATCH")[0].body["metadata"]["annotations"] == {HELD: "jane: audit"}


def test_many_are_counted_and_the_first_are_named(client: FakeClient, capsys: Shown) -> None:
    pods = [a_pod(f"{number:02}") for number in range(25)]
    client.will("GET", orjson.dumps({"metadata": {}, "items": [*pods, a_pod("held", **{HELD: "jo"})]}))
    client.will("POST", ME).will("PATCH", *[b"{}"] * 24, Forbidden(403, "Forbidden", "no"))
    assert run(["hold", "group/g", "-n", "team-a"]) == 1
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert lines[0] == "pod team-a/00: held"
    assert lines[20:] == [
        "and 4 more",
        "pod team-a/held: is held already (jo)",
        "24 of 26 held; 1 needed nothing; 1 could not be.",
    ]
    assert shown.err == "Error: pod team-a/24: cannot be held: 403 Forbidden: no\n"


def test_a_queue_is_opened_only_where_it_was_drained(client: FakeClient, capsys: Shown) -> None:
    metadata = {"name": "q", "uid": "q", "annotations": {HELD: "jo: audit"}}
    for stop in ("Hold", "HoldAndDrain"):
        client.will("GET", orjson.dumps({"metadata": metadata, "spec": {"stopPolicy": stop}}))
    client.will("PATCH", b"{}")
    assert run(["open", "clusterqueue/q", "-n", "team-a"]) == 1
    told = "Error: clusterqueue q: cannot be opened: is held (jo: audit): penstock release undoes that\n"
    assert capsys.readouterr().err == told
    assert run(["open", "clusterqueue/q", "-n", "team-a"]) == 0
    assert capsys.readouterr().out == "clusterqueue q: opened\n"


def test_a_job_whose_template_names_no_queue_is_warned_of(client: FakeClient, capsys: Shown) -> None:
    job = {"metadata": {"name": "j", "namespace": "team-a", "uid": "j", "annotations": {HELD: "jo"}}}
    client.will("GET", orjson.dumps(job)).will("PATCH", b"{}")
    assert run(["release", "job/j", "-n", "team-a"]) == 0
    shown = capsys.readouterr()
    assert shown.err.startswith("Warning: job team-a/j: its template names no queue; ")
    assert shown.out == "job team-a/j: released\n"

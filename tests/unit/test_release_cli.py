"""`penstock release` without a cluster: what it sends, what it makes of the answers, and its words."""

from __future__ import annotations

import asyncio
import io
import os
import signal
from collections.abc import Sequence
from typing import Any

import click
import orjson
import pytest

from controller.cli import release
from controller.cli.main import run
from controller.core.keys import GATE
from controller.core.opening import GatedPod, opening_patch
from controller.kube.client import ActingAs
from controller.kube.decode import UnreadableObject, decode_gated
from controller.kube.errors import Conflict, Forbidden, Invalid, KubeError, NotFound, ServerError, Unreachable
from controller.runtime import gate_opener
from controller.runtime.gate_opener import GateOpener, Tally, gated_pods
from tests.support.fake_client import FakeClient
from tests.support.json_patch import PatchFailed, patched

Json = dict[str, Any]
EDITED = Invalid(422, "Invalid", "the server rejected our request due to an error in our request")


def a_pod(name: str = "one", gates: Sequence[str] = (GATE,), **metadata: Any) -> Json:
    metadata = {"name": name, "namespace": "team-a", "uid": name, "generation": 1, "resourceVersion": "5", **metadata}
    spec = {"schedulingGates": [{"name": gate} for gate in gates], "containers": [{"resources": {"requests": "odd"}}]}
    return {"metadata": metadata, "spec": spec}


def gated(document: Json) -> GatedPod:
    pod = decode_gated(orjson.dumps(document))
    assert pod is not None
    return pod


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_opener, "_PAUSE_SECONDS", 0.0)


async def opened(fake: FakeClient, *pods: Json) -> Tally:
    opener = GateOpener(fake.as_client, on_progress=lambda _: None)
    return await opener.open([gated(pod) for pod in pods])


def test_our_gate_goes_and_nothing_else_changes() -> None:
    before = a_pod(gates=["a.com/x", GATE, "b.com/y"])
    after = patched(before, opening_patch(gated(before)))
    assert after == a_pod(gates=["a.com/x", "b.com/y"])


@pytest.mark.parametrize(
    "now",
    [
        a_pod(uid="another"),
        a_pod(generation=2),
        a_pod(gates=["a.com/x", GATE]),
        a_pod(gates=[]),
    ],
)
def test_a_pod_that_changed_is_not_patched(now: Json) -> None:
    with pytest.raises(PatchFailed):
        patched(now, opening_patch(gated(a_pod())))


def test_a_pod_without_a_generation_is_known_by_its_version() -> None:
    old = a_pod(generation=0)
    assert patched(old, opening_patch(gated(old)))["spec"]["schedulingGates"] == []
    with pytest.raises(PatchFailed):
        patched(a_pod(generation=0, resourceVersion="6"), opening_patch(gated(old)))


def test_bytes_that_are_no_pod_are_said_so() -> None:
    with pytest.raises(UnreadableObject, match="pod: "):
        decode_gated(b'{"metadata": 3}')


async def test_only_pods_with_our_gate_are_found_in_the_order_of_their_names() -> None:
    items = [a_pod("two"), a_pod("none", []), a_pod("theirs", ["a.com/x"]), a_pod("one")]
    fake = FakeClient().will("GET", orjson.dumps({"metadata": {}, "items": items}))
    assert [pod.name for pod in await gated_pods(fake.as_client, "team-a")] == ["one", "two"]
    assert fake.calls[0].path == "/api/v1/namespaces/team-a/pods"


async def test_an_edited_pod_is_read_again_and_its_new_place_of_the_gate_used() -> None:
    now = a_pod(gates=["a.com/x", GATE], generation=2)
    fake = FakeClient().will("PATCH", EDITED, b"{}").will("GET", orjson.dumps(now))
    tally = await opened(fake, a_pod())
    assert (tally.opened, tally.refused) == (1, [])
    assert fake.made("PATCH")[1].body == opening_patch(gated(now))


@pytest.mark.parametrize(
    "found", [orjson.dumps(a_pod(gates=[])), orjson.dumps(a_pod(uid="another")), NotFound(404, "NotFound", "no")]
)
async def test_a_pod_that_is_open_or_gone_needs_nothing(found: bytes | Exception) -> None:
    fake = FakeClient().will("PATCH", Conflict(409, "Conflict", "changed")).will("GET", found)
    tally = await opened(fake, a_pod())
    assert (tally.opened, tally.needless, tally.refused) == (0, 1, [])


async def test_a_refusal_of_an_unchanged_pod_is_not_tried_again() -> None:
    fake = FakeClient().will("PATCH", EDITED).will("GET", orjson.dumps(a_pod()))
    tally = await opened(fake, a_pod())
    assert [error for _, error in tally.refused] == [EDITED]


async def test_one_refusal_does_not_keep_the_next_pod() -> None:
    forbidden = Forbidden(403, "Forbidden", "no")
    fake = FakeClient().will("PATCH", forbidden, b"{}")
    tally = await opened(fake, a_pod("one"), a_pod("two"))
    assert (tally.opened, tally.done) == (1, 2)


async def test_a_lost_answer_is_found_out_by_a_read() -> None:
    fake = FakeClient().will("PATCH", Unreachable("no answer")).will("GET", orjson.dumps(a_pod(gates=[])))
    assert (await opened(fake, a_pod())).needless == 1


async def test_an_apiserver_that_stays_away_is_not_asked_for_every_pod() -> None:
    away = [Unreachable("refused")] * 200
    fake = FakeClient().will("PATCH", *away).will("GET", *away)
    tally = await opened(fake, *(a_pod(f"pod-{number}") for number in range(100)))
    assert tally.opened == 0
    assert tally.done == 8


async def test_a_webhook_that_is_away_is_not_asked_again() -> None:
    away = ServerError(500, "InternalError", 'failed calling webhook "updates.penstock.dev": refused')
    fake = FakeClient().will("PATCH", away)
    assert len((await opened(fake, a_pod())).refused) == 1
    assert len(fake.calls) == 1


async def test_after_a_stop_no_pod_is_begun() -> None:
    opener = GateOpener(FakeClient().as_client, on_progress=lambda _: None)
    opener.stop()
    assert (await opener.open([gated(a_pod())])).done == 0


def test_everybody_else_has_a_header_of_each_group() -> None:
    assert ActingAs("jane", ("a", "b")).headers == [
        ("Impersonate-User", "jane"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
    ]


class Cluster:
    """What the command finds, and what becomes of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pods = [gated(a_pod("one")), gated(a_pod("two"))]
        self.tally = Tally(opened=2)
        self.interrupted = False
        self.asked = 0
        monkeypatch.setattr(release, "_find", self._find)
        monkeypatch.setattr(release, "_open", self._open)

    async def _find(self, where: object) -> list[GatedPod]:
        return self.pods

    async def _open(self, where: object, pods: list[GatedPod]) -> tuple[Tally, bool]:
        self.asked += 1
        return self.tally, self.interrupted


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    return Cluster(monkeypatch)


def test_help_has_an_example_and_says_that_it_is_no_admission(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["release", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "penstock release --all --dry-run" in shown
    assert "It is no admission" in shown


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "say --all"),
        (["--all", "--as-group", "penstock:break-glass"], "--as-group needs --as NAME"),
        (["--all", "-n", ""], "--namespace: '' is no name of a namespace"),
        (["--all", "-n", "../nodes"], "--namespace: '../nodes' is no name of a namespace"),
    ],
)
def test_wrong_usage_releases_none(
    arguments: list[str], text: str, cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["release", *arguments, "--yes"]) == 2
    assert text in capsys.readouterr().err
    assert cluster.asked == 0


def test_a_dry_run_lists_and_releases_none(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["release", "--all", "--dry-run"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "team-a/one\nteam-a/two\n"
    assert shown.err == f"2 pods in the cluster have the gate {GATE}.\n"
    assert cluster.asked == 0


def test_nothing_to_release_is_said(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    cluster.pods = []
    assert run(["release", "--all", "-n", "team-a"]) == 0
    assert capsys.readouterr().out == f"0 pods in namespace team-a have the gate {GATE}.\n"


def test_the_question_says_how_many_and_no_releases_none(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    questions = []

    def answer(question: str) -> bool:
        questions.append(question)
        return False

    monkeypatch.setattr(click, "confirm", answer)
    assert run(["release", "--all"]) == 1
    assert questions == ["Release 2 pods in the cluster, whatever the quotas say?"]
    assert cluster.asked == 0


def test_where_nobody_can_be_asked_yes_is_needed(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert run(["release", "--all"]) == 2
    assert "add --yes" in capsys.readouterr().err
    assert cluster.asked == 0


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            Forbidden(
                403, "Forbidden", 'pods "one" is forbidden: … denied request: gate-is-ours: spec.schedulingGates: …'
            ),
            "only Penstock and the break-glass group may open the gate: add --as NAME --as-group penstock:break-glass",
        ),
        (
            ServerError(500, "InternalError", 'failed calling webhook "updates.penstock.dev": refused'),
            "the webhook that protects the gate does not answer: add --as NAME --as-group penstock:break-glass",
        ),
        (Forbidden(403, "Forbidden", "two\nlines"), "403 Forbidden: two lines"),
    ],
)
def test_each_that_could_not_be_released_has_its_reason_in_one_line(
    error: KubeError, reason: str, cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.tally = Tally(opened=1, refused=[(cluster.pods[0], error)])
    assert run(["release", "--all", "--yes"]) == 1
    shown = capsys.readouterr()
    assert shown.err == f"Error: team-a/one: not released: {reason}\n"
    assert shown.out == "Released 1 of 2 pods; 1 pod could not be.\n"


def test_an_interrupted_run_says_what_is_left(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    cluster.tally, cluster.interrupted = Tally(opened=1), True
    assert run(["release", "--all", "--yes"]) == 130
    assert capsys.readouterr().out == "Released 1 of 2 pods; 1 pod not tried.\n"


class Slow(FakeClient):
    """An apiserver that takes its time, as far as the event loop is concerned."""

    async def __aenter__(self) -> FakeClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        return

    async def patch(self, path: str, body: object, **options: Any) -> bytes:
        await asyncio.sleep(0)
        answer = await super().patch(path, body, **options)
        await asyncio.sleep(0)
        return answer


def test_ctrl_c_finishes_what_is_under_way_and_counts_exactly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pods = [gated(a_pod(f"pod-{number}")) for number in range(500)]

    def interrupt() -> bytes:
        os.kill(os.getpid(), signal.SIGINT)
        return b"{}"

    fake = Slow().will("PATCH", *[b"{}"] * 20, interrupt, *[b"{}"] * 479)

    async def found(where: object) -> list[GatedPod]:
        return pods

    async def connected(where: object) -> FakeClient:
        return fake

    monkeypatch.setattr(release, "_find", found)
    monkeypatch.setattr(release._Where, "connect", connected)
    assert run(["release", "--all", "--yes"]) == 130
    sent = len(fake.calls)
    assert 20 < sent < 500
    shown = capsys.readouterr()
    assert shown.out == f"Released {sent} of 500 pods; {500 - sent} pods not tried.\n"
    assert "interrupted" in shown.err

"""`penstock release` without a cluster: its options, its question, its words and how Ctrl-C ends it."""

from __future__ import annotations

import io
import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from controller.cli import opening_all
from controller.cli.acting import Where
from controller.cli.main import run
from controller.core.gate.opening import HeldJob, Waiting
from controller.core.keys import GATE
from controller.kube.connection import ActingAs
from controller.kube.errors import Forbidden, KubeError
from controller.runtime.gate_opener import Tally
from tests.support.fake_client import FakeClient
from tests.support.gated_pods import PROTECTED, Slow, a_pod, answers_no, gated, webhook_failed

TRAIN = HeldJob(namespace="team-a", name="train", uid="train", generation=1, resource_version="5")
HELD = Forbidden(403, "Forbidden", 'jobs "train" is forbidden: … denied request: job-is-held: spec.suspend: …')


def test_everybody_else_has_a_header_of_each_group() -> None:
    assert ActingAs("jane", ("a", "b")).headers == [
        ("Impersonate-User", "jane"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
    ]


class Cluster:
    """What the command finds, and what becomes of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pods: list[Waiting] = [gated(a_pod("one")), gated(a_pod("two"))]
        self.tally = Tally(opened=2)
        self.interrupted = False
        self.asked = 0
        reach(monkeypatch, Slow(), lambda: self.pods)
        monkeypatch.setattr(opening_all, "GateOpener", lambda *_, **__: self)
        monkeypatch.setattr(opening_all, "gently", self._gently)

    @contextmanager
    def _gently(self, _: object) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(came=self.interrupted)

    def stop(self) -> None:
        raise AssertionError("nobody interrupts it")

    async def open(self, pods: list[Waiting]) -> Tally:
        self.asked += 1
        return self.tally


def reach(monkeypatch: pytest.MonkeyPatch, client: FakeClient, pods: Callable[[], list[Waiting]]) -> None:
    """Let the command find these pods in the cluster of this client."""

    async def connected(where: object) -> FakeClient:
        return client

    async def found(*_: object) -> list[Waiting]:
        return pods()

    monkeypatch.setattr(Where, "connect", connected)
    monkeypatch.setattr(opening_all, "waiting", found)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    return Cluster(monkeypatch)


def test_help_has_an_example_and_says_that_it_is_no_admission(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["release", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "penstock release --all --dry-run" in shown
    assert "This is no admission" in shown


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "say --all"),
        (["--all", "--as-group", "penstock:break-glass"], "--as-group needs --as NAME"),
        (["--remove-admission"], "--remove-admission needs --all"),
        (["--all", "--remove-admission", "-n", "team-a"], "leave out --namespace"),
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
    questions = answers_no(monkeypatch)
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
            PROTECTED,
            "only Penstock and the break-glass group may open the gate: add --as NAME --as-group penstock:break-glass",
        ),
        (
            webhook_failed("updates.queued-pods.penstock.dev"),
            "the webhook updates.queued-pods.penstock.dev does not answer: "
            "add --as NAME --as-group penstock:break-glass",
        ),
        (
            webhook_failed("pods.example.com"),
            '500 InternalError: Internal error occurred: failed calling webhook "pods.example.com": refused',
        ),
        (Forbidden(403, "Forbidden", "two\nlines"), "403 Forbidden: two lines"),
    ],
)
def test_each_unreleased_pod_has_its_reason_in_one_line(
    error: KubeError, reason: str, cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.tally = Tally(opened=1, refused=[(cluster.pods[0], error)])
    assert run(["release", "--all", "--yes"]) == 1
    shown = capsys.readouterr()
    assert shown.err == f"Error: team-a/one: not released: {reason}\n"
    assert shown.out == "Released 1 of 2 pods; 1 pod could not be.\n"


def test_of_many_alike_the_first_are_named_and_others_counted(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.pods = [gated(a_pod(f"pod-{number}")) for number in range(16)]
    rights = [Forbidden(403, "Forbidden", f'pods "{pod.name}" is forbidden') for pod in cluster.pods[:7]]
    errors = [*rights, *[PROTECTED] * 5, *[webhook_failed("updates.penstock.dev")] * 3]
    cluster.tally = Tally(refused=list(zip(cluster.pods, errors, strict=False)))
    assert run(["release", "--all", "--yes"]) == 1
    shown = capsys.readouterr()
    lines = shown.err.splitlines()
    assert lines[4:6] == [
        'Error: team-a/pod-4: not released: 403 Forbidden: pods "pod-4" is forbidden',
        "and 2 more, for the same reason",
    ]
    named = [match[1] for line in lines if (match := re.match("Error: team-a/pod-([0-9]+): not released: ", line))]
    assert named == [str(number) for number in (*range(5), *range(7, 15))]
    assert len(lines) == len(named) + 1
    assert shown.out == "Released 0 of 16 pods; 15 pods could not be; 1 pod not tried.\n"


def test_no_webhook_of_ours_is_asked_of_break_glass_changes() -> None:
    documents = [
        document
        for file in sorted(Path("config").rglob("*.yaml"))
        for document in yaml.safe_load_all(file.read_text())
        if isinstance(document, dict) and str(document.get("kind")).endswith("WebhookConfiguration")
    ]
    asked = {
        webhook["name"]: [condition["name"] for condition in webhook.get("matchConditions", [])]
        for document in documents
        for webhook in document["webhooks"]
        if any("UPDATE" in rule["operations"] and "pods" in rule["resources"] for rule in webhook["rules"])
    }
    assert len(asked) == 4
    assert [name for name, conditions in asked.items() if "is-not-break-glass" not in conditions] == []


def test_jobs_that_are_held_are_counted_with_the_pods(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    cluster.pods.append(TRAIN)
    assert run(["release", "--all", "--dry-run"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "team-a/one\nteam-a/two\nJob team-a/train\n"
    assert shown.err == f"2 pods in the cluster have the gate {GATE}, and 1 Job is held.\n"
    cluster.tally = Tally(opened=2, refused=[(TRAIN, HELD)])
    assert run(["release", "--all", "--yes"]) == 1
    shown = capsys.readouterr()
    assert shown.out == "Released 2 of 3 pods and Jobs; 1 could not be.\n"
    assert shown.err.startswith("Error: Job team-a/train: not released: only Penstock and the break-glass group may")
    cluster.pods, cluster.tally = [TRAIN], Tally(opened=1)
    assert run(["release", "--all", "--yes"]) == 0
    assert capsys.readouterr().out == "Released 1 of 1 Job.\n"


def test_an_interrupted_run_says_what_is_left(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    cluster.tally, cluster.interrupted = Tally(opened=1), True
    assert run(["release", "--all", "--yes"]) == 130
    assert capsys.readouterr().out == "Released 1 of 2 pods; 1 pod not tried.\n"


def test_ctrl_c_finishes_what_is_under_way_and_counts_exactly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pods: list[Waiting] = [gated(a_pod(f"pod-{number}")) for number in range(500)]

    def interrupt() -> bytes:
        os.kill(os.getpid(), signal.SIGINT)
        return b"{}"

    fake = Slow().will("PATCH", *[b"{}"] * 20, interrupt, *[b"{}"] * 479)

    reach(monkeypatch, fake, lambda: pods)
    assert run(["release", "--all", "--yes"]) == 130
    sent = len(fake.calls)
    assert 20 < sent < 500
    shown = capsys.readouterr()
    assert shown.out == f"Released {sent} of 500 pods; {500 - sent} pods not tried.\n"
    assert "interrupted" in shown.err

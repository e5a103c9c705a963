"""`penstock release --all --remove-admission`: what gates and protects pods goes first, then all that waits."""

from __future__ import annotations

from collections import deque
from typing import Any

import orjson
import pytest

from controller.cli import opening_all
from controller.cli.acting import Where
from controller.cli.main import run
from controller.core.gate.opening import Waiting
from controller.kube.errors import NotFound
from controller.runtime import admission_removal
from tests.support.fake_client import Call
from tests.support.gated_pods import Slow, a_pod, answers_no, gated


class Cluster(Slow):
    """One whose admission objects are asked for by kind; deletions are noted among the calls."""

    def __init__(self) -> None:
        super().__init__()
        self.admission = {
            "mutatingadmissionpolicies": ["penstock-gate"],
            "validatingadmissionpolicybindings": ["penstock-create", "penstock-fence"],
        }
        self.unserved: set[str] = set()

    async def get(self, path: str, params: Any = None, **_: Any) -> bytes:
        kind = path.rpartition("/")[2]
        if kind in self.unserved:
            raise NotFound(404, "NotFound", "the server could not find the requested resource")
        assert params == {"labelSelector": "app.kubernetes.io/part-of=penstock"}
        return orjson.dumps({"items": [{"metadata": {"name": name}} for name in self.admission.get(kind, ())]})

    async def delete(self, path: str, *_: Any, **__: Any) -> bytes:
        self.calls.append(Call("DELETE", path))
        kind, name = path.split("/")[-2:]
        self.admission[kind] = [one for one in self.admission[kind] if one != name]
        return b"{}"


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster()

    async def connected(_: object) -> Cluster:
        return made

    monkeypatch.setattr(Where, "connect", connected)
    monkeypatch.setattr(admission_removal, "PAUSE_SECONDS", 0.0)
    return made


def waits(monkeypatch: pytest.MonkeyPatch, *lists: list[Waiting]) -> None:
    """Let these be found, one list after the other."""
    left = deque(lists)

    async def found(*_: object) -> list[Waiting]:
        return left.popleft()

    monkeypatch.setattr(opening_all, "waiting", found)


def test_a_dry_run_names_what_would_go(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    waits(monkeypatch, [gated(a_pod("one"))])
    assert run(["release", "--all", "--remove-admission", "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "mutatingadmissionpolicies/penstock-gate",
        "validatingadmissionpolicybindings/penstock-create",
        "validatingadmissionpolicybindings/penstock-fence",
        "team-a/one",
    ]
    assert cluster.calls == []


def test_admission_goes_first_and_then_pods_until_none_waits(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one, late = gated(a_pod("one")), gated(a_pod("late"))
    waits(monkeypatch, [one], [one], [late], [])
    cluster.will("PATCH", b"{}", b"{}")
    assert run(["release", "--all", "--remove-admission", "--yes"]) == 0
    assert [call.path.split("/", 4)[-1] for call in cluster.calls] == [
        "mutatingadmissionpolicies/penstock-gate",
        "validatingadmissionpolicybindings/penstock-create",
        "validatingadmissionpolicybindings/penstock-fence",
        "team-a/pods/one",
        "team-a/pods/late",
    ]
    assert capsys.readouterr().out == ("Deleted 3 admission objects.\nReleased 1 of 1 pod.\nReleased 1 of 1 pod.\n")


def test_a_kind_that_is_not_served_needs_no_removal(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Mutating policies are served from Kubernetes 1.36 on."""
    cluster.unserved = {"mutatingadmissionpolicies", "mutatingadmissionpolicybindings"}
    waits(monkeypatch, [], [])
    assert run(["release", "--all", "--remove-admission", "--yes"]) == 0
    assert capsys.readouterr().out == "Deleted 2 admission objects.\n"


def test_the_question_says_what_goes(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    questions = answers_no(monkeypatch)
    waits(monkeypatch, [gated(a_pod("one"))])
    assert run(["release", "--all", "--remove-admission"]) == 1
    assert questions == [
        "Delete 3 admission objects of Penstock, and release 1 pod in the cluster, whatever the quotas say?"
    ]
    assert capsys.readouterr().out == "None was released.\n"
    assert cluster.calls == []

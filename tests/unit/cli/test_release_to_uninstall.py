"""`penstock release --all --remove-admission`: the controller, and what gates and protects pods, goes first."""

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
from controller.runtime import admission_removal, shutdown
from tests.support.fake_client import Call
from tests.support.gated_pods import Slow, a_pod, answers_no, gated

OURS = "app.kubernetes.io/part-of=penstock"
CONTROLLER = f"{OURS},app.kubernetes.io/name=penstock-controller"


class Cluster(Slow):
    """One whose own objects are asked for by kind; deletions are noted among the calls."""

    def __init__(self) -> None:
        super().__init__()
        self.objects = {
            "mutatingadmissionpolicies": ["penstock-gate"],
            "validatingadmissionpolicybindings": ["penstock-create", "penstock-fence"],
            "apiservices": ["v1alpha1.visibility.penstock.dev"],
            "deployments": ["penstock-controller"],
        }
        self.pods: deque[list[str]] = deque()
        self.replicas = 2
        self.unserved: set[str] = set()

    async def get(self, path: str, params: Any = None, **_: Any) -> bytes:
        kind = path.rpartition("/")[2]
        if kind in self.unserved:
            raise NotFound(404, "NotFound", "the server could not find the requested resource")
        assert params == {"labelSelector": CONTROLLER if kind in {"deployments", "pods"} else OURS}
        found = self.pods.popleft() if kind == "pods" and self.pods else []
        names = self.objects.get(kind, found)
        metadata = [{"name": name, "namespace": "penstock-system"} for name in names]
        return orjson.dumps({"items": [{"metadata": one, "spec": {"replicas": self.replicas}} for one in metadata]})

    async def delete(self, path: str, *_: Any, **__: Any) -> bytes:
        self.calls.append(Call("DELETE", path))
        kind, name = path.split("/")[-2:]
        self.objects[kind] = [one for one in self.objects[kind] if one != name]
        return b"{}"


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster()

    async def connected(_: object) -> Cluster:
        return made

    monkeypatch.setattr(Where, "connect", connected)
    monkeypatch.setattr(admission_removal, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(shutdown, "POLL_SECONDS", 0.0)
    return made


def gone_already(cluster: Cluster) -> None:
    cluster.replicas = 0
    cluster.objects["apiservices"] = []


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
        "apiservices/v1alpha1.visibility.penstock.dev",
        "deployments/penstock-controller",
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
    cluster.will("PATCH", b"{}", b"{}", b"{}")
    cluster.pods.extend([["penstock-controller-1"], []])
    assert run(["release", "--all", "--remove-admission", "--yes"]) == 0
    assert [call.path.split("/", 4)[-1] for call in cluster.calls] == [
        "mutatingadmissionpolicies/penstock-gate",
        "apiservices/v1alpha1.visibility.penstock.dev",
        "namespaces/penstock-system/deployments/penstock-controller/scale",
        "validatingadmissionpolicybindings/penstock-create",
        "validatingadmissionpolicybindings/penstock-fence",
        "team-a/pods/one",
        "team-a/pods/late",
    ]
    assert cluster.made("PATCH")[0].body == {"spec": {"replicas": 0}}
    assert capsys.readouterr().out == (
        "Stopped the controller, and deleted 3 admission objects.\nReleased 1 of 1 pod.\nReleased 1 of 1 pod.\n"
    )


def test_a_controller_that_does_not_end_ends_the_command(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would take back what is released."""
    waits(monkeypatch, [gated(a_pod("one"))])
    cluster.will("PATCH", b"{}")
    cluster.pods.extend([["penstock-controller-1"]] * 1000)
    assert run(["release", "--all", "--remove-admission", "--yes"]) == 1
    assert "penstock-system/penstock-controller-1 did not end in 90 s" in capsys.readouterr().err
    assert "validatingadmissionpolicybindings/penstock-fence" not in str(cluster.calls)


def test_what_was_stopped_before_is_not_stopped_again(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone_already(cluster)
    waits(monkeypatch, [], [])
    assert run(["release", "--all", "--remove-admission", "--yes"]) == 0
    assert cluster.made("PATCH") == []
    assert capsys.readouterr().out == "Deleted 3 admission objects.\n"


def test_a_kind_that_is_not_served_needs_no_removal(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Mutating policies are served from Kubernetes 1.36 on."""
    cluster.unserved = {"mutatingadmissionpolicies", "mutatingadmissionpolicybindings"}
    gone_already(cluster)
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
        "Stop the controller, delete 3 admission objects of Penstock, and release 1 pod in the cluster, whatever the "
        "quotas say?"
    ]
    assert capsys.readouterr().out == "None was released.\n"
    assert cluster.calls == []

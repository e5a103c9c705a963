"""Reading what pods meet from a cluster: what is asked for, and what people are told who may not read it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from controller.cli.main import run
from controller.cli.policy import from_cluster, report
from controller.cli.policy.faults import NoAnswer
from controller.cli.policy.from_cluster import connected, pods_in, surroundings_in
from controller.cli.policy.kinds import KINDS
from controller.cli.policy.surroundings import Settings
from controller.kube import config
from controller.kube.client import Client
from controller.kube.errors import Forbidden, NotFound, ServerError
from tests.support.api_objects import cluster_pod_policy, pod_policy
from tests.support.fake_client import Call, FakeClient
from tests.support.policy_files import a_namespace, a_pod, write

NO = Forbidden(403, "Forbidden", "no")
UNREACHABLE = {
    "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
    "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    "users": [{"name": "u", "user": {}}],
    "current-context": "c",
}


def listed(*items: Any, token: str = "") -> bytes:
    return orjson.dumps({"metadata": {"continue": token}, "items": list(items)})


class Cluster(FakeClient):
    """Answers by the last part of the path; lists without an answer of their own are empty."""

    def __init__(self, **answers: bytes | Exception) -> None:
        super().__init__()
        self.by_plural: dict[str, bytes | Exception] = dict(answers)

    def _answer(self, call: Call) -> bytes:
        self.calls.append(call)
        plural = next((part for part in reversed(call.path.split("/")) if part in self.by_plural), "")
        answer = self.by_plural.get(plural, listed())
        if isinstance(answer, Exception):
            raise answer
        return answer


async def test_a_namespace_is_read_by_name_and_wide_kinds_whole() -> None:
    policy = pod_policy("own", "team-a", nodeSelector={"a": "b"})
    cluster = Cluster(
        namespaces=orjson.dumps(a_namespace("team-a", tier="gold")),
        clusterpodschedulingpolicies=listed(cluster_pod_policy(), cluster_pod_policy("bad", mode="x")),
        podschedulingpolicies=listed(policy),
    )
    found, notes = await surroundings_in(cluster.as_client, Settings(), "team-a")
    assert [call.path for call in cluster.calls] == [
        "/api/v1/namespaces/team-a",
        "/apis/penstock.dev/v1alpha1/clusterpodschedulingpolicies",
        "/apis/penstock.dev/v1alpha1/namespaces/team-a/podschedulingpolicies",
        "/apis/penstock.dev/v1alpha1/namespaces/team-a/localqueues",
        "/apis/penstock.dev/v1alpha1/schedulingpolicies",
        "/apis/node.k8s.io/v1/runtimeclasses",
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        "/apis/penstock.dev/v1alpha1/workloadpriorityclasses",
        "/apis/penstock.dev/v1alpha1/clusterqueues",
    ]
    assert notes == ()
    assert [one.key for one in found.policies] == ["batch", "team-a/own"]
    assert found.world.namespace_labels("team-a") == {"tier": "gold", "kubernetes.io/metadata.name": "team-a"}
    assert [fault.split(": ")[0] for fault in found.faults] == ["clusterpodschedulingpolicies.penstock.dev/bad"]


async def test_all_namespaces_are_listed() -> None:
    cluster = Cluster(namespaces=listed(a_namespace("a"), a_namespace("b")))
    found, _ = await surroundings_in(cluster.as_client, Settings(), None)
    assert cluster.calls[0].path == "/api/v1/namespaces"
    assert found.knows_namespace("b")
    assert cluster.calls[2].path == "/apis/penstock.dev/v1alpha1/podschedulingpolicies"


@pytest.mark.parametrize(
    ("plural", "namespace", "text"),
    [
        ("namespaces", "a", "no right to get namespaces in namespace 'a': ask for the role view there, or use --obj"),
        ("namespaces", None, "no right to list namespaces in the whole cluster: ask for the ClusterRole view, or"),
        (
            "clusterpodschedulingpolicies",
            "a",
            "no right to list clusterpodschedulingpolicies.penstock.dev in the whole cluster: ask for the ClusterRole "
            "penstock-policy-reader, or use --objects with files",
        ),
        (
            "podschedulingpolicies",
            "a",
            "no right to list podschedulingpolicies.penstock.dev in namespace 'a': ask for the role view there, or",
        ),
        (
            "podschedulingpolicies",
            None,
            "no right to list podschedulingpolicies.penstock.dev in the whole cluster: ask for the ClusterRole view",
        ),
    ],
)
async def test_a_missing_right_is_one_line_with_verb_and_resource(
    plural: str, namespace: str | None, text: str
) -> None:
    with pytest.raises(NoAnswer) as caught:
        await surroundings_in(Cluster(**{plural: NO}).as_client, Settings(), namespace)
    assert caught.value.message.startswith(text)
    assert "\n" not in caught.value.message
    assert caught.value.exit_code == 2


async def test_what_matters_little_may_be_unreadable_with_a_note() -> None:
    hidden = ("priorityclasses", "runtimeclasses", "workloadpriorityclasses", "clusterqueues")
    cluster = Cluster(namespaces=orjson.dumps(a_namespace("a")), **dict.fromkeys(hidden, NO))
    found, notes = await surroundings_in(cluster.as_client, Settings(), "a")
    assert notes == (
        "no right to list runtimeclasses.node.k8s.io: what the RuntimeClass of a pod demands is left out",
        "no right to list priorityclasses.scheduling.k8s.io: spec.priority is left out",
        "no right to list workloadpriorityclasses.penstock.dev: there is no warning of one that does not exist",
        "no right to list clusterqueues.penstock.dev: pods are neither refused nor warned of for kube-scheduler's "
        "preemption",
    )
    assert found.world.has_priority_class("any")
    assert found.priorities.fields({}) is None
    with pytest.raises(
        NoAnswer, match=r"no right to list runtimeclasses\.node\.k8s\.io in the whole cluster: ask for the "
    ):
        await surroundings_in(cluster.as_client, Settings(runtime_classes=True), "a")


async def test_what_does_not_exist_is_told() -> None:
    gone = NotFound(404, "NotFound", "no")
    with pytest.raises(NoAnswer, match="namespace 'a' does not exist; create it, or name another with --namespace"):
        await surroundings_in(Cluster(namespaces=gone).as_client, Settings(), "a")
    cluster = Cluster(namespaces=orjson.dumps(a_namespace("a")), localqueues=gone)
    with pytest.raises(
        NoAnswer, match=r"the cluster does not serve localqueues\.penstock\.dev: install Penstock's CRDs"
    ):
        await surroundings_in(cluster.as_client, Settings(), "a")


async def test_pods_come_page_by_page() -> None:
    fake = FakeClient().will("GET", listed(a_pod("a"), token="more"), listed(a_pod("b")))
    found = [[pod["metadata"]["name"] for pod in page] async for page in pods_in(fake.as_client, "x/y")]
    assert found == [["a"], ["b"]]
    assert [call.path for call in fake.calls] == ["/api/v1/namespaces/x%2Fy/pods"] * 2
    assert [call.params.get("continue") for call in fake.calls] == [None, "more"]
    with pytest.raises(NoAnswer, match="no right to list pods in the whole cluster: ask for the ClusterRole view"):
        [page async for page in pods_in(FakeClient().will("GET", NO).as_client, None)]


def test_a_kind_knows_its_name_in_rights() -> None:
    assert [kind.resource for kind in KINDS] == [
        "namespaces",
        "clusterpodschedulingpolicies.penstock.dev",
        "podschedulingpolicies.penstock.dev",
        "localqueues.penstock.dev",
        "schedulingpolicies.penstock.dev",
        "roles.rbac.authorization.k8s.io",
        "clusterroles.rbac.authorization.k8s.io",
        "rolebindings.rbac.authorization.k8s.io",
        "clusterrolebindings.rbac.authorization.k8s.io",
        "runtimeclasses.node.k8s.io",
        "priorityclasses.scheduling.k8s.io",
        "workloadpriorityclasses.penstock.dev",
        "clusterqueues.penstock.dev",
    ]


@pytest.mark.parametrize("command", [["explain", "-f", "pod.yaml"], ["report"], ["report", "-A"]])
def test_a_cluster_that_is_away_is_one_line_and_no_refusal(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "pod.yaml", a_pod())
    kubeconfig = write(tmp_path / "config", UNREACHABLE)
    assert run(["policy", *command, "--kubeconfig", str(kubeconfig)]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("Error: http://127.0.0.1:1: ")
    assert shown.count("\n") == 1
    assert run(["policy", *command, "--kubeconfig", "absent"]) == 2
    assert "no such file: absent" in capsys.readouterr().err


async def test_faults_of_the_cluster_in_the_middle_are_no_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def load(*_: object) -> object:
        return object()

    class Broken:
        def __init__(self, *_: object, **__: object) -> None: ...

        async def __aenter__(self) -> Broken:
            return self

        async def __aexit__(self, *_: object) -> None: ...

    monkeypatch.setattr(config, "load", load)
    monkeypatch.setattr(from_cluster, "Client", Broken)
    with pytest.raises(NoAnswer, match="500"):
        async with connected(None, None):
            raise ServerError(500, "Internal", "broken")


def test_ctrl_c_ends_a_report_cleanly(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    @asynccontextmanager
    async def interrupted(*_: object) -> AsyncIterator[Client]:
        yield Cluster(pods=listed(a_pod("a"), token="more")).as_client

    async def stop(*_: object) -> AsyncIterator[list[Any]]:
        yield [a_pod("a")]
        raise KeyboardInterrupt

    monkeypatch.setattr(report, "connected", interrupted)
    monkeypatch.setattr(report, "pods_in", stop)
    assert run(["policy", "report", "-A"]) == 130
    out, err = capsys.readouterr()
    assert (out, err.strip()) == ("", "interrupted")

"""What a cluster does not show is told at once and by its right; what cannot be read is left out and told."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from controller.core.decision.decide import decide
from controller.kube.errors import Forbidden, Gone, KubeError
from controller.replay.outcome import outcome_of
from controller.replay.recording import CannotRecordError, record
from controller.replay.snapshot_file import from_bytes, to_bytes
from tests.support.fake_lists import FakeLists
from tests.support.pod_documents import Json

OURS = "/apis/penstock.dev/v1alpha1"
PODS = "/api/v1/pods"
GROUPS = "/apis/scheduling.k8s.io/v1alpha2"
AT = "2026-03-02T08:00:00Z"
NOW = 1_772_438_460.0

FORBIDDEN = Forbidden(403, "Forbidden", "no")


def named(name: str, namespace: str = "", **parts: Any) -> Json:
    metadata = {"name": name, "uid": f"uid-{name}", "creationTimestamp": AT, "generation": 1, "resourceVersion": "1"}
    return {"metadata": {**metadata, **({"namespace": namespace} if namespace else {})}, **parts}


def a_pod(name: str, cpu: str = "1") -> Json:
    pod = named(name, "default")
    pod["metadata"]["labels"] = {"penstock.dev/queue-name": "main"}
    container = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
    pod["spec"] = {"containers": [container], "schedulingGates": [{"name": "penstock.dev/queue"}]}
    return pod


def collections() -> dict[str, list[Json]]:
    """A queue of two cpu, by sums."""
    quota = [{"name": "spot", "resources": [{"name": "cpu", "nominalQuota": 2}]}]
    static = {"capacity": {"mode": "Static", "static": {"cpu": 8}}}
    return {
        "/api/v1/namespaces": [named("default")],
        "/api/v1/nodes": [],
        f"{OURS}/resourceflavors": [named("spot", spec=static)],
        f"{OURS}/clusterqueues": [named("team", spec={"namespaceSelector": {}, "flavors": quota})],
        f"{OURS}/localqueues": [named("main", "default", spec={"clusterQueue": "team"})],
        "/api/v1/limitranges": [],
        "/apis/node.k8s.io/v1/runtimeclasses": [],
        "/apis/scheduling.k8s.io/v1/priorityclasses": [],
        "/apis/batch/v1/jobs": [],
        f"{OURS}/workloadpriorityclasses": [],
        PODS: [a_pod("first"), a_pod("second", "2")],
    }


class Forgetful(FakeLists):
    """The list of pods takes longer by pages than the apiserver remembers it."""

    async def get(self, path: str, params: Mapping[str, str] | None = None, **options: Any) -> bytes:
        if path == PODS and (params or {}).get("limit") not in (None, "1"):
            raise Gone(410, "Expired", "too old")
        return await super().get(path, params, **options)


async def told(cluster: FakeLists) -> str:
    with pytest.raises(CannotRecordError) as raised:
        await record(cluster.as_client)
    return str(raised.value)


async def test_what_is_listed_is_decided_on_as_the_file_has_it() -> None:
    cluster = FakeLists(collections())
    recorded = await record(cluster.as_client, now=lambda: NOW)
    read = from_bytes(to_bytes(recorded.snapshot))
    found = outcome_of(read, decide(read, limit=100))
    assert [one.pod for one in found.admissions] == ["default/first"]
    assert [(one.pod, one.reason.value) for one in found.waiting] == [("default/second", "QuotaExceeded")]
    assert (found.at, recorded.unreadable) == ("2026-03-02T08:01:00Z", ())
    lists = [path for path, params in cluster.asked if params.get("limit") not in (None, "1")]
    assert sorted(lists) == sorted(collections())
    assert lists[-1] == PODS  # what came later would be of another moment for thousands
    assert not [params for _, params in cluster.asked if "watch" in params]


async def test_every_forbidden_kind_is_named_before_any_is_listed() -> None:
    closed = ("/api/v1/nodes", "/apis/batch/v1/jobs", f"{OURS}/localqueues")
    cluster = FakeLists(collections(), dict.fromkeys(closed, FORBIDDEN))
    assert await told(cluster) == (
        "no right to list nodes, localqueues.penstock.dev, jobs.batch in the whole cluster: "
        "ask for the ClusterRole view in the whole cluster and for the right to list nodes"
    )
    assert {params.get("limit") for _, params in cluster.asked} <= {None, "1"}


async def test_a_cluster_without_our_kinds_is_told() -> None:
    cluster = FakeLists({path: those for path, those in collections().items() if not path.startswith(OURS)})
    text = await told(cluster)
    assert text.startswith("the cluster does not serve resourceflavors.penstock.dev, clusterqueues.penstock.dev, ")
    assert text.endswith("install Penstock's CRDs (config/crd), or name another cluster with --kubeconfig or --context")


async def test_what_every_cluster_has_is_not_said_to_be_missing_crds() -> None:
    cluster = FakeLists({path: those for path, those in collections().items() if path != PODS})
    with pytest.raises(KubeError, match="404 NotFound"):
        await record(cluster.as_client)


async def test_pod_groups_are_read_where_they_are_served() -> None:
    size = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    objects = {**collections(), f"{GROUPS}/podgroups": [named("g", "default", spec=size)]}
    served = {GROUPS: orjson.dumps({"resources": [{"name": "podgroups"}]})}
    member = a_pod("member")
    member["spec"]["schedulingGroup"] = {"podGroupName": "g"}
    objects[PODS] = [member]
    recorded = await record(FakeLists(objects, served).as_client, now=lambda: NOW)
    found = outcome_of(recorded.snapshot, decide(recorded.snapshot, limit=100))
    assert [(one.pod, one.reason.value) for one in found.waiting] == [("default/member", "GangIncomplete")]
    forbidden = FakeLists(objects, {**served, f"{GROUPS}/podgroups": FORBIDDEN})
    assert (await told(forbidden)).startswith("no right to list podgroups.scheduling.k8s.io in the whole cluster")


async def test_a_discovery_that_is_no_list_is_one_line() -> None:
    text = await told(FakeLists(collections(), {"/apis/scheduling.k8s.io/v1": b'{"resources": 1}'}))
    assert text.startswith("/apis/scheduling.k8s.io: the answer is no list of resources: ")


async def test_what_cannot_be_read_is_left_out_and_told() -> None:
    objects = collections()
    objects[PODS].insert(0, {**a_pod("odd"), "spec": {"containers": "none"}})
    recorded = await record(FakeLists(objects).as_client, now=lambda: NOW)
    assert {pod.name for pod in recorded.snapshot.running.pods.values()} == {"first", "second"}
    assert len(recorded.unreadable) == 1
    assert recorded.unreadable[0].startswith("pods: pod: Expected `array`, got `str`")


async def test_a_list_that_the_apiserver_forgot_is_asked_for_at_once() -> None:
    cluster = Forgetful(collections())
    recorded = await record(cluster.as_client, now=lambda: NOW)
    assert len(recorded.snapshot.running.pods) == 2
    assert cluster.asked[-1] == (PODS, {})


async def test_the_depth_of_backfill_is_that_which_is_told() -> None:
    objects = collections()
    objects[f"{OURS}/clusterqueues"][0]["spec"]["queueingStrategy"] = "Backfill"
    recorded = await record(FakeLists(objects).as_client, backfill_depth=7, now=lambda: NOW)
    forecast = from_bytes(to_bytes(recorded.snapshot)).running.forecast
    assert forecast is not None
    assert forecast.depth == 7


def test_what_budgets_have_used_up_comes_from_the_status() -> None:
    objects = collections()
    (queue,) = objects[f"{OURS}/clusterqueues"]
    queue["spec"]["budgets"] = [{"name": "compute", "resource": "cpu", "hours": 1, "period": "Month"}]
    used = [{"since": "2026-03-01T00:00:00Z", "amount": "3600000"}]
    queue["status"] = {
        "budgets": [{"name": "compute", "counts": "cpu/Month/UTC", "countedUntil": AT, "slices": used}],
    }
    recorded = asyncio.run(record(FakeLists(objects).as_client, now=lambda: NOW))  # reads the files of time zones
    found = outcome_of(recorded.snapshot, decide(recorded.snapshot, limit=100))
    assert [one.reason.value for one in found.waiting] == ["BudgetExhausted", "BudgetExhausted"]

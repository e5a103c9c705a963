"""Who goes first, and what that costs at the apiserver."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from controller.core.keys import PRIORITY_CLASS
from controller.core.kubernetes.pointers import escape
from controller.kube import clock
from controller.kube.client import MERGE_PATCH
from controller.kube.clock import epoch
from tests.support.audit import requests
from tests.support.clusters import Cluster
from tests.support.eventually import eventually
from tests.support.leaders import crash
from tests.support.team import Json, Team, is_gated

pytestmark = pytest.mark.integration

CONTROLLER = "system:serviceaccount:penstock-system:penstock-controller"


async def test_the_higher_priority_goes_first(team: Team) -> None:
    await team.ready({"spot": {"cpu": 1}})
    await team.pod("running")
    await team.until_bound("running")
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"
    body = {"metadata": {"name": team.full("high")}, "value": 1000, "preemptionPolicy": "Never"}
    await team.client.post(path, body)
    try:
        await team.pod("low")
        await team.pod("high", spec={"priorityClassName": team.full("high")})
        await team.visited()
        await team.end("running")
        pods = await team.until_bound("high")
        assert is_gated(pods["low"])
    finally:
        await team.client.delete(f"{path}/{team.full('high')}")


async def test_a_workload_priority_class_wins_and_is_waited_for(team: Team) -> None:
    await team.ready({"spot": {"cpu": 1}})
    await team.pod("running")
    await team.until_bound("running")
    await team.pod("ordinary")
    high = team.full("high")
    await team.pod("high", labels={PRIORITY_CLASS: high})
    message = await team.until_waiting("high", "PriorityClassNotFound")
    assert message == f"WorkloadPriorityClass {high} does not exist: create it, or correct the pod's label"
    await team.make("workloadpriorityclasses", "WorkloadPriorityClass", high, {"value": 100})

    async def counted() -> bool:
        return bool((await team.status("workloadpriorityclasses", high)).get("pending") == 1)

    await eventually(counted)
    await team.end("running")
    pods = await team.until_bound("high")
    assert is_gated(pods["ordinary"])


async def test_a_pod_of_a_forbidden_class_waits_for_a_change(team: Team) -> None:
    high, low = team.full("high"), team.full("low")
    await team.ready(allowedPriorityClasses=[low])
    for name, value in ((high, 100), (low, -100)):
        await team.make("workloadpriorityclasses", "WorkloadPriorityClass", name, {"value": value})
    await team.pod("low", labels={PRIORITY_CLASS: low})
    await team.pod("none")
    await team.pod("relabelled", labels={PRIORITY_CLASS: high})
    await team.pod("high", labels={PRIORITY_CLASS: high})
    await team.until_bound("low", "none")
    message = await team.until_waiting("high", "PriorityClassNotAllowed")
    cq = team.full("cq")
    assert message.startswith(f"WorkloadPriorityClass {high} is not allowed by ClusterQueue {cq}, which allows {low}: ")
    label = f"/metadata/labels/{escape(PRIORITY_CLASS)}"
    await team.patch("relabelled", [{"op": "replace", "path": label, "value": low}])
    pods = await team.until_bound("relabelled")
    assert is_gated(pods["high"])
    await team.change("clusterqueues", cq, {"allowedPriorityClasses": [low, high]})
    await team.until_bound("high")


async def test_a_pod_that_its_job_makes_again_keeps_its_place(team: Team) -> None:
    await team.ready({"spot": {"cpu": 1}})
    await team.pod("running")
    await team.until_bound("running")
    job = await team.job("train")
    first = await only_pod_of(team, "train")
    next_second = epoch(job["metadata"]["creationTimestamp"]) + 1
    await eventually(lambda: clock.now() > next_second, message="it is still the second in which the Job was made")
    await team.pod("later")
    await team.delete(first)
    second = await only_pod_of(team, "train", other_than=first)
    await team.visited()
    await team.end("running")
    pods = await team.until_bound(second)
    assert is_gated(pods["later"])


async def test_the_label_of_a_job_moves_its_waiting_pods(team: Team) -> None:
    await team.ready({"spot": {"cpu": 1}})
    await team.make("workloadpriorityclasses", "WorkloadPriorityClass", team.full("high"), {"value": 100})
    await team.pod("running")
    await team.until_bound("running")
    await team.pod("before")
    await team.job("train")
    pod = await only_pod_of(team, "train")
    body = {"metadata": {"labels": {PRIORITY_CLASS: team.full("high")}}}
    path = f"/apis/batch/v1/namespaces/{team.namespace}/jobs/train"
    await team.client.patch(path, body, content_type=MERGE_PATCH)

    async def counted() -> bool:
        return bool((await team.status("workloadpriorityclasses", team.full("high"))).get("pending") == 1)

    await eventually(counted, message="the pod does not go by the class of its Job")
    await team.end("running")
    pods = await team.until_bound(pod)
    assert is_gated(pods["before"])


async def only_pod_of(team: Team, job: str, *, other_than: str = "") -> str:
    """Wait for the pod of a Job; return its name."""

    async def made() -> str:
        names = [name for name in await team.all() if name.startswith(f"{job}-") and name != other_than]
        return names[0] if names else ""

    return await eventually(made, message=f"Job {job} has no pod")


async def test_strict_fifo_holds_up_and_best_effort_lets_pass(team: Team) -> None:
    await team.ready({"spot": {"cpu": 4}}, queueingStrategy="StrictFIFO")
    await team.cluster_queue({"spot": {"cpu": 4}}, "loose")
    await team.local_queue("loose", "loose")
    for queue in ("main", "loose"):
        await team.pod(f"{queue}-first", "2", queue=queue)
        await team.until_bound(f"{queue}-first")
        await team.pod(f"{queue}-large", "3", queue=queue)
    # creation times have a resolution of one second; the name decides within it
    for queue in ("main", "loose"):
        await team.pod(f"{queue}-small", "1", queue=queue)
    pods = await team.until_bound("loose-small")
    await team.visited()
    assert is_gated(pods["loose-large"])
    assert is_gated(await team.get("main-small"))
    message = await team.until_waiting("main-small", "Priority")
    queue = team.full("cq")
    assert message == f"behind others in the StrictFIFO queue {queue}"


async def test_a_burst_of_mixed_sizes_leaves_nothing_pending(team: Team) -> None:
    await team.nodes("spot", 6, cpu="8", memory="32Gi")
    await team.flavor("spot")
    await team.cluster_queue({"spot": {"cpu": 1000}})
    await team.local_queue()
    sizes = ["4", "3", "2", "1"] * 12
    annotations = {"run-for": "2s"}
    await asyncio.gather(*(team.pod(f"pod-{n}", cpu, annotations=annotations) for n, cpu in enumerate(sizes)))

    async def done() -> bool:
        phases = Counter(pod["status"]["phase"] for pod in (await team.all()).values())
        assert phases == {"Succeeded": len(sizes)}, phases
        return True

    await eventually(done, seconds=90, message="not every pod ran to its end")


async def test_each_released_pod_costs_exactly_one_patch_of_ours(team: Team, cluster: Cluster) -> None:
    await team.ready({"spot": {"cpu": 100, "pods": 200}})
    names = await team.pods(60, "100m")
    await team.until_bound(*names)

    def patches() -> Counter[str]:
        return Counter(
            entry["objectRef"]["name"]
            for entry in audit(cluster)
            if entry["user"]["username"] == CONTROLLER
            and entry["verb"] in ("patch", "update")
            and entry["objectRef"].get("namespace") == team.namespace
            and not entry["objectRef"].get("subresource")
        )

    await eventually(lambda: len(patches()) == len(names), message="the audit log is not written yet")
    assert patches() == Counter(names)


async def test_the_audit_log_tells_what_penstock_reads(cluster: Cluster) -> None:
    watched = {
        entry["objectRef"]["resource"]
        for entry in requests(cluster.sandbox)
        if entry["user"]["username"] == CONTROLLER and entry["verb"] == "watch"
    }
    assert {"pods", "nodes", "clusterqueues"} <= watched


@pytest.mark.more
async def test_a_killed_controller_loses_and_repeats_nothing(team: Team, cluster: Cluster) -> None:
    await team.nodes("spot", 4, cpu="8", memory="32Gi")
    await team.flavor("spot")
    await team.cluster_queue({"spot": {"cpu": 10}})
    await team.local_queue()
    controller = cluster.programs.controller
    creating = asyncio.gather(*(team.pod(f"pod-{n}", annotations={"run-for": "3s"}) for n in range(60)))
    try:
        for _ in range(3):
            await _more_is_released(team)
            await crash(controller, team.client)
            assert await _running_cpu(team) <= 10
            controller.start()
            await controller.wait_ready()
    finally:
        await creating

    async def done() -> bool:
        pods = await team.all()
        assert await _running_cpu(team) <= 10
        phases = Counter(pod["status"]["phase"] for pod in pods.values())
        assert phases == {"Succeeded": 60}, phases
        return True

    await eventually(done, seconds=90, message="not every pod ran to its end")

    def patched() -> list[Json]:
        return [
            entry
            for entry in audit(cluster)
            if entry["user"]["username"] == CONTROLLER
            and entry["verb"] == "patch"
            and entry["objectRef"].get("namespace") == team.namespace
            and not entry["objectRef"].get("subresource")
        ]

    # of a patch whose sender was killed before the answer came the log may tell no success
    await eventually(lambda: len({entry["objectRef"]["name"] for entry in patched()}) == 60, message="the audit log")
    succeeded = Counter(e["objectRef"]["name"] for e in patched() if e["responseStatus"]["code"] == 200)
    assert set(succeeded.values()) == {1}


def audit(cluster: Cluster) -> list[Json]:
    """The finished requests about pods in the audit log, but for dry runs: by these a new leader tries the fence."""
    return [
        entry
        for entry in requests(cluster.sandbox, resource="pods")
        if entry["stage"] == "ResponseComplete" and "dryRun=All" not in entry["requestURI"]
    ]


async def _count_released(team: Team) -> int:
    return sum(not is_gated(pod) for pod in (await team.all()).values())


async def _more_is_released(team: Team) -> None:
    before = await _count_released(team)

    async def more() -> bool:
        return await _count_released(team) > before

    await eventually(more, message="nothing more is released")


async def _running_cpu(team: Team) -> int:
    """Whole cpus of released pods that have not ended: what the quota of 10 must cover."""
    pods = (await team.all()).values()
    return sum(1 for pod in pods if not is_gated(pod) and pod["status"]["phase"] not in ("Succeeded", "Failed"))

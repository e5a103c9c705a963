"""`penstock snapshot` of a real cluster, and what `penstock replay` makes of the file."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

import orjson
import pytest

from controller.core.keys import POD_GROUP, POD_GROUP_SIZE
from tests.support.clusters import Cluster
from tests.support.command import penstock
from tests.support.team import Json, Team, flavor_of

pytestmark = pytest.mark.integration


def without_figures(message: str) -> str:
    """What a condition and an answer say alike: what is needed, without what is free, which only the answer has."""
    return re.sub(r"(needs [^,;]+), (more than is free of its quota|\S+ of its quota is free)", r"\1", message)


async def saved(cluster: Cluster, file: Path) -> str:
    """Save a snapshot; return where it is."""
    done = await penstock(cluster.sandbox, "snapshot", "-o", str(file))
    assert (done.code, done.output) == (0, "")
    assert done.errors.startswith("saved ")
    size = await asyncio.to_thread(os.path.getsize, file)
    assert done.errors.endswith(f": {size} bytes\n")
    return str(file)


async def replayed(cluster: Cluster, *arguments: str) -> Json:
    done = await penstock(cluster.sandbox, "replay", *arguments, "-o", "json")
    assert (done.code, done.errors) == (0, "")
    found: Json = orjson.loads(done.output)
    return found


async def test_a_pod_waits_for_what_its_condition_says(team: Team, cluster: Cluster, tmp_path: Path) -> None:
    await team.ready({"spot": {"cpu": 4}})
    await team.pod("running", "3")
    await team.until_bound("running")
    await team.pod("large", "9")
    await team.pod("next", "2")
    await team.pod("nowhere", queue="absent")
    await team.pod("member", labels={POD_GROUP: "train"}, annotations={POD_GROUP_SIZE: "2"})
    reasons = {
        "large": "NeverFits",
        "next": "QuotaExceeded",
        "nowhere": "QueueNotFound",
        "member": "GangIncomplete",
    }
    told = {name: (reason, await team.until_waiting(name, reason)) for name, reason in reasons.items()}
    file = await saved(cluster, tmp_path / "now.json.gz")
    document = await replayed(cluster, file)
    own = [one for one in document["waiting"] if one["pod"].startswith(f"{team.namespace}/")]
    said = {one["pod"].partition("/")[2]: (one["reason"], without_figures(one["message"])) for one in own}
    assert said == {name: (reason, without_figures(text)) for name, (reason, text) in told.items()}
    assert not [one for one in document["admitted"] if one["pod"].startswith(f"{team.namespace}/")]
    one = await replayed(cluster, file, "--pod", f"{team.namespace}/running")
    node = (await team.get("running"))["spec"]["nodeName"]
    where = f"by ClusterQueue {team.full('cq')} onto flavor {team.full('spot')}, on node {node}"
    assert (one["becomes"], one["message"]) == ("Unchanged", f"was admitted {where}")


@pytest.mark.more
async def test_the_controller_does_what_was_replayed(team: Team, cluster: Cluster, tmp_path: Path) -> None:
    for shape in ("spot", "on-demand"):
        await team.nodes(shape, 2, cpu="4", memory="16Gi")
        await team.flavor(shape)
    await team.cluster_queue({"spot": {"cpu": 6}, "on-demand": {"cpu": 3}})
    await team.local_queue()
    controller = cluster.programs.controller
    assert await controller.stop() == 0
    try:
        await team.pods(5, "2")
        document = await replayed(cluster, await saved(cluster, tmp_path / "now.json"))
    finally:
        controller.start()
        await controller.wait_ready()
    own = [one for one in document["admitted"] if one["pod"].startswith(f"{team.namespace}/")]
    assert len(own) == 4
    pods = await team.until_bound(*(one["pod"].partition("/")[2] for one in own))
    for one in own:
        pod = pods[one["pod"].partition("/")[2]]
        assert ([flavor_of(pod)], pod["spec"]["nodeName"]) == (one["flavors"], one["node"])
    (waiting,) = (one for one in document["waiting"] if one["pod"].startswith(f"{team.namespace}/"))
    message = await team.until_waiting(waiting["pod"].partition("/")[2], waiting["reason"])
    assert without_figures(message) == without_figures(waiting["message"])


async def test_who_may_not_list_everything_is_told_what(team: Team, cluster: Cluster, tmp_path: Path) -> None:
    kubeconfig = await cluster.sandbox.service_account_kubeconfig(team.namespace, "default")
    file = tmp_path / "now.json"
    done = await penstock(cluster.sandbox, "snapshot", "--kubeconfig", str(kubeconfig), "-o", str(file))
    assert (done.code, await asyncio.to_thread(os.path.exists, file)) == (1, False)
    assert done.errors == (
        "Error: no right to list namespaces, nodes, resourceflavors.penstock.dev, clusterqueues.penstock.dev, "
        "localqueues.penstock.dev, limitranges, runtimeclasses.node.k8s.io, priorityclasses.scheduling.k8s.io, "
        "jobs.batch, workloadpriorityclasses.penstock.dev, workloadkinds.penstock.dev, deviceclasses.resource.k8s.io, "
        "resourceclaimtemplates.resource.k8s.io, pods in the whole cluster: "
        "ask for the ClusterRole view in the whole cluster and for the right to list nodes\n"
    )

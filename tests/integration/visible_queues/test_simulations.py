"""What another setup would do, asked of a real controller through a real apiserver: who may, and what they see."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from controller.core.keys import EXPECTED_RUNTIME, QUEUE_NAME
from controller.extension_api.paths import ROOT
from controller.extension_api.resources import API_VERSION, HIDDEN
from tests.integration.visible_queues.test_command import as_somebody
from tests.support.clusters import Cluster
from tests.support.command import penstock
from tests.support.eventually import eventually
from tests.support.team import Json, Team
from tests.support.viewers import SIMULATOR, VIEWER, Reply, Viewers, bind

pytestmark = pytest.mark.integration

PATH = f"{ROOT}/simulations"


def a_simulation(**spec: Any) -> Json:
    return {
        "apiVersion": API_VERSION,
        "kind": "Simulation",
        "metadata": {"name": "what-if"},
        "spec": {"hours": 0.5, "runs": 2, **spec},
    }


def a_job(team: Team, name: str = "train") -> Json:
    template = {
        "metadata": {"labels": {QUEUE_NAME: "main"}, "annotations": {EXPECTED_RUNTIME: "1h"}},
        "spec": {"containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}]},
    }
    metadata = {"name": name, "namespace": team.namespace}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template}}


def more_quota(team: Team) -> str:
    return f"quota:{team.full('cq')}/{team.full('spot')}/cpu=+1"


async def one_runs_and_one_waits(team: Team, people: Viewers) -> None:
    """Of both nobody knows how long they run."""
    await team.ready({"spot": {"cpu": 1}})
    await team.pod("first")
    await team.until_bound("first")
    await team.pod("second")

    async def decided() -> bool:
        items = (await people.get(f"{ROOT}/namespaces/{team.namespace}/pendingworkloads")).body["items"]
        return [one["status"]["reason"] for one in items] == ["QuotaExceeded"]

    await eventually(decided)


async def created(people: Viewers, document: Json, user: str = "", code: int = 201) -> Reply:
    """Create it, when rights that were just given are known."""

    async def answered() -> Reply:
        reply = await people.create(PATH, document, user)
        assert reply.code == code, reply.text
        return reply

    return await eventually(answered, message=f"{user} does not get {code}")


async def test_a_change_admits_who_waits(team: Team, people: Viewers) -> None:
    await one_runs_and_one_waits(team, people)
    reply = await created(people, a_simulation(changes=[more_quota(team)], jobs=[a_job(team)]))
    assert (reply.body["kind"], reply.body["metadata"]) == ("Simulation", {"name": "what-if"})
    assert reply.body["spec"]["changes"] == [more_quota(team)]
    status = reply.body["status"]
    before, after = (status[name]["clusterQueues"][team.full("cq")] for name in ("before", "after"))
    assert (before["started"], before["waiting"]) == (0, 1)
    assert (after["started"], after["waiting"]) == (1, 1), "the Job is behind the pod"
    assert (status["before"]["simulations"], status["after"]["simulations"]) == (2, 2)
    assert status["jobs"] == [{"name": f"{team.namespace}/train", "pods": 1}]
    assert f"{team.namespace}/first" in status["before"]["unknownRuntimes"]
    assert status["before"]["users"]
    assert not await team.exists(f"/apis/batch/v1/namespaces/{team.namespace}/jobs/train")
    assert (await people.get(f"{PATH}/what-if")).code == 405
    quota = {"name": team.full("spot"), "resources": [{"name": "cpu", "nominalQuota": 2}]}
    await team.change("clusterqueues", team.full("cq"), {"flavors": [quota]})
    await team.until_bound("second")


async def test_it_takes_a_right_of_its_own(team: Team, people: Viewers) -> None:
    """Figures are for who has it; users and names for who may list all pods besides."""
    await one_runs_and_one_waits(team, people)
    jane, document = f"jane-of-{team.id}", a_simulation(changes=[more_quota(team)])
    await bind(team.client, jane, VIEWER)

    async def readable() -> bool:
        return (await people.get(f"{ROOT}/clusterqueues", jane)).code == 200

    await eventually(readable)
    refused = await people.create(PATH, document, jane)
    assert (refused.code, refused.body["reason"]) == (403, "Forbidden")
    await bind(team.client, jane, SIMULATOR)
    shown = (await created(people, document, jane)).body["status"]
    assert shown["after"]["clusterQueues"][team.full("cq")]["started"] == 1
    for one in (shown["before"], shown["after"]):
        assert (one["users"], set(one["unknownRuntimes"])) == ({}, {HIDDEN})
    foreign = await people.create(PATH, a_simulation(jobs=[a_job(team)]), jane)
    assert (foreign.code, foreign.body["reason"]) == (403, "Forbidden")
    assert f'names of pods in the namespace "{team.namespace}"' in foreign.body["message"]
    await bind(team.client, jane, "view", team.namespace)
    mine = (await created(people, a_simulation(jobs=[a_job(team)]), jane)).body["status"]
    assert (mine["jobs"][0]["name"], mine["after"]["users"]) == (f"{team.namespace}/train", {})


@pytest.mark.parametrize(
    ("spec", "code", "told"),
    [
        ({"changes": ["lost:none"]}, 422, "spec.changes[0]: lost:none: there is no flavor none"),
        ({"runs": 0}, 422, "spec.runs: Invalid value: 0: expected int >= 1: How many simulations"),
        ({"depth": 1}, 422, "spec.depth: unknown field; there are changes, jobs, hours"),
        ({"jobs": [{"a": "x" * 2**20}]}, 413, "Request entity too large: limit is 1048576"),
    ],
)
async def test_what_cannot_be_tried_is_refused(people: Viewers, spec: Json, code: int, told: str) -> None:
    reply = await people.create(PATH, a_simulation(**spec))
    assert (reply.code, reply.body["kind"]) == (code, "Status")
    assert told in reply.body["message"]


async def test_clients_learn_its_form(people: Viewers) -> None:
    found = {one["name"]: one for one in (await people.get(ROOT)).body["resources"]}
    assert (found["simulations"]["verbs"], found["simulations"]["namespaced"]) == (["create"], False)

    async def merged() -> bool:
        whole = (await people.get("/openapi/v2")).body
        return set(whole["paths"][f"{PATH}"]) >= {"post"}

    await eventually(merged, message="no OpenAPI v2")

    async def served() -> bool:
        return (await people.get(f"/openapi/v3/apis/{API_VERSION}")).code == 200

    await eventually(served, message="no OpenAPI v3")
    document = (await people.get(f"/openapi/v3/apis/{API_VERSION}")).body
    spec = document["components"]["schemas"]["dev.penstock.visibility.v1alpha1.spec.SimulationSpec"]
    assert set(spec["properties"]) == {"changes", "jobs", "hours", "runs", "seed", "resolution"}


@pytest.mark.more
async def test_the_command_asks_the_api(cluster: Cluster, team: Team, people: Viewers, tmp_path: Path) -> None:
    """So does who may list nothing of the cluster."""
    await one_runs_and_one_waits(team, people)
    joe = f"joe-of-{team.id}"
    kubeconfig = ["--kubeconfig", str(await as_somebody(cluster, tmp_path, joe, team.namespace))]
    arguments = ["simulate", "--change", more_quota(team), "--hours", "0.5", "--runs", "2", "-o", "json"]
    refused = await penstock(cluster.sandbox, *arguments, *kubeconfig)
    told = "Error: no right to create simulations.visibility.penstock.dev in the whole cluster: ask for the "
    assert (refused.code, refused.errors) == (1, f"{told}ClusterRole {SIMULATOR} in the whole cluster\n")
    await bind(team.client, joe, SIMULATOR)
    await created(people, a_simulation(), joe)
    by_api = await penstock(cluster.sandbox, *arguments, *kubeconfig)
    without = await penstock(cluster.sandbox, *arguments, "--without-api")
    assert (by_api.code, by_api.errors, without.code) == (0, "", 0), (by_api, without)
    shown = [orjson.loads(done.output)["after"]["clusterQueues"][team.full("cq")] for done in (by_api, without)]
    assert [(one["started"], one["waiting"]) for one in shown] == [(1, 0), (1, 0)]
    listing = await penstock(cluster.sandbox, *arguments, *kubeconfig, "--without-api")
    assert (listing.code, listing.output) == (1, "")
    wrong = await penstock(cluster.sandbox, "simulate", "--change", "lost:none", *kubeconfig)
    assert (wrong.code, wrong.output) == (1, "")
    assert wrong.errors.startswith("Error: --change lost:none: there is no flavor none; there are ")

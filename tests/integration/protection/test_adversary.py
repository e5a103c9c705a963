"""A user with edit rights tries to run without quota, the controller and the scheduler at work: nothing is for free.

docs/protection.md lists the attempts. What a single request may change is in the table; here is what comes of it.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession
from prometheus_client.parser import text_string_to_metric_families

from controller.core.keys import ADMITTED_AT, CLUSTER_QUEUE, FLAVOR, QUEUE_NAME, QUEUEING, REQUIRED
from controller.kube.client import JSON_PATCH, Client
from tests.integration.protection.adversary import (
    BIRTHS,
    ON_ANY,
    ON_WAITING,
    Adversary,
    Change,
    asking,
    debugging,
    labels,
)
from tests.integration.protection.conftest import Protected
from tests.integration.protection.people import Field, is_gated
from tests.integration.protection.table import QUEUED_LABELS, STAMPS, Where
from tests.support.eventually import eventually
from tests.support.impersonation import Identity, Impersonation, Reply
from tests.support.team import TEAM_LABEL, Team

Json = dict[str, Any]
pytestmark = pytest.mark.integration


@pytest.fixture
async def team(protected: Protected, client: Client, apiserver: Impersonation) -> AsyncIterator[Team]:
    """A team whose namespace has an editor."""
    made = Team(client, protected.sandbox)
    await made.open()
    await Field(client, apiserver, {Where.PLAIN: made.namespace}).let_in_editors()
    yield made
    await made.close()


@pytest.fixture
def adversary(apiserver: Impersonation, team: Team) -> Adversary:
    return Adversary(apiserver, team)


async def charged(team: Team, name: str = "cq", resource: int = 0) -> str:
    """What the ClusterQueue says is used of its first flavor."""
    status = await team.status("clusterqueues", team.full(name))
    return str(status["flavorsUsage"][0]["resources"][resource]["total"])


async def until_charged(team: Team, amount: str, name: str = "cq") -> None:
    async def is_charged() -> bool:
        assert await charged(team, name) == amount
        return True

    await eventually(is_charged, message=f"{amount} is not charged")


async def reported(team: Team, name: str, cpu: str) -> None:
    """Let the node say what it gives to a pod, as it must for a resize; fake ones do not."""

    async def is_running() -> bool:
        return bool((await team.get(name))["status"]["containerStatuses"])

    await eventually(is_running, message=f"{name} does not run")
    given = [{"op": "add", "path": "/status/containerStatuses/0/resources", "value": {"requests": {"cpu": cpu}}}]
    await team.client.patch(f"{team.pods_path}/{name}/status", given, content_type=JSON_PATCH)


def outcome(reply: Reply, words: str) -> tuple[int, str]:
    """Code and the words, or the whole message where they are missing."""
    message = str(reply.body.get("message", ""))
    return reply.code, words if words in message else message


async def tried(adversary: Adversary, pod: str, changes: Sequence[Change]) -> None:
    """Try each change, and find each refused as it says."""
    found = {one.name: outcome(await adversary.change(pod, one.patch, one.subresource), one.words) for one in changes}
    assert found == {one.name: (one.code, one.words) for one in changes}


async def test_nothing_done_to_a_pod_that_waits_lets_it_run(team: Team, adversary: Adversary) -> None:
    await team.ready({"spot": {"cpu": 4}})
    await team.pod("first", "4")
    await team.until_bound("first")
    await team.pod("wanted", "4")
    await team.until_waiting("wanted", "QuotaExceeded")

    await tried(adversary, "wanted", ON_WAITING)
    assert (await adversary.change("wanted", debugging(), "ephemeralcontainers")).code == 200

    await team.visited()
    await team.until_waiting("wanted", "QuotaExceeded")
    await until_charged(team, "4")


async def test_nothing_done_to_a_pod_that_runs_is_free(team: Team, adversary: Adversary) -> None:
    await team.ready({"spot": {"cpu": 4}})
    await team.pod("first", "4")
    await team.until_bound("first")
    await until_charged(team, "4")
    await reported(team, "first", "4")

    await tried(adversary, "first", ON_ANY)
    assert (await adversary.change("first", debugging(), "ephemeralcontainers")).code == 200

    await team.visited()
    assert await charged(team) == "4"


async def test_what_a_pod_gave_back_it_does_not_get_again(team: Team, adversary: Adversary) -> None:
    await team.ready({"spot": {"cpu": 4}})
    await team.pod("first", "4")
    await team.until_bound("first")
    await reported(team, "first", "4")

    assert (await adversary.change("first", {"spec": asking({"cpu": "1"})}, "resize")).code == 200
    await reported(team, "first", "1")
    await until_charged(team, "1")
    await team.pod("second", "3")
    await until_charged(team, "4")

    reply = await adversary.change("first", {"spec": asking({"cpu": "4"})}, "resize")
    assert outcome(reply, "no-growth: ") == (403, "no-growth: ")
    assert await charged(team) == "4"


async def test_a_pod_that_ends_is_charged_until_it_is_gone(team: Team, adversary: Adversary) -> None:
    await team.ready({"spot": {"cpu": 4}})
    kept = {**QUEUED_LABELS, "finalizers": ["example.com/kept"], "annotations": {"ignores-sigterm": "true"}}
    assert (await adversary.create("first", kept, asking({"cpu": "4"}))).code == 201
    await team.until_bound("first")
    await team.until_runs("first")  # one that does not yet would not be left by the signal
    assert (await adversary.delete("first", 1_000_000_000)).code == 200

    left = {"metadata": labels(queue=None, cluster_queue=None, flavor=None)}
    assert outcome(await adversary.change("first", left), "keys-are-ours: ") == (403, "keys-are-ours: ")
    await team.pod("second", "4")
    await team.until_waiting("second", "QuotaExceeded")
    await until_charged(team, "4")

    assert (await adversary.change("first", {"metadata": {"finalizers": None}})).code == 200
    await team.end("first")
    await team.until_bound("second")


async def test_a_pod_deleted_while_it_waits_never_runs(team: Team, adversary: Adversary) -> None:
    await team.ready({"spot": {"cpu": 4}}, stopPolicy="Hold")
    kept = {**QUEUED_LABELS, "finalizers": ["example.com/kept"]}
    assert (await adversary.create("first", kept, {})).code == 201
    assert (await adversary.delete("first", 1_000_000_000)).code == 200

    opened = {"metadata": labels(queue=None), "spec": {"schedulingGates": None}}
    assert (await adversary.change("first", opened)).code in (403, 422)
    assert (await adversary.change("first", {}, "binding")).code == 409

    await team.visited()
    assert "nodeName" not in (await team.get("first"))["spec"]
    assert (await adversary.change("first", {"metadata": {"finalizers": None}})).code == 200


async def test_any_new_pod_is_refused_or_waits_with_a_reason(
    team: Team, adversary: Adversary, client: Client, protected: Protected
) -> None:
    await team.ready({"spot": {"cpu": 8}})
    await team.cluster_queue({"spot": {"cpu": 8}}, "theirs", namespaceSelector={"matchLabels": {"team": "theirs"}})
    await team.local_queue("to-theirs", "theirs")

    replies = {one.name: await adversary.create(one.name, one.metadata, one.spec) for one in BIRTHS}

    found = {one.name: outcome(replies[one.name], one.words) for one in BIRTHS}
    assert found == {one.name: (one.code, one.words) for one in BIRTHS}
    born = [one for one in BIRTHS if one.code == 201]
    assert [one.name for one in born if not is_gated(replies[one.name].body)] == []
    for one in born:
        if one.reason:
            assert len(await team.until_waiting(one.name, one.reason)) < 1500
    await team.pod("honest")
    await team.until_bound("honest")
    await _metrics_name_only_queues_that_exist(protected)


async def _metrics_name_only_queues_that_exist(protected: Protected) -> None:
    named = {one.metadata.get("labels", {}).get(QUEUE_NAME) for one in BIRTHS} - {"", "main", None}
    for program in (protected.programs.controller, protected.programs.webhook):
        if program.log.exists():
            url = f"http://127.0.0.1:{program.port('http')}/metrics"
            async with ClientSession() as session, session.get(url) as answer:
                families = list(text_string_to_metric_families(await answer.text()))
            values = {v for family in families for sample in family.samples for v in sample.labels.values()}
            assert values
            assert not named & values


async def test_what_gets_by_is_charged_in_full(team: Team, adversary: Adversary) -> None:
    await team.ready({"spot": {"cpu": 8, "pods": 10}})
    container = asking({"cpu": "1"})["containers"][0]
    specs = {
        "by-its-limit": asking({}, limits={"cpu": "1"}),
        "hardly-anything": asking({"cpu": "1n"}),
        "nothing": asking({}),
        "first-much": {"initContainers": [{**asking({"cpu": "2"})["containers"][0], "name": "before"}]},
        "beside": {"initContainers": [{**container, "name": "beside", "restartPolicy": "Always"}]},
        "as-a-whole": {**asking({}), "resources": {"requests": {"cpu": "1"}}},
    }
    for name, spec in specs.items():
        assert (await adversary.create(name, QUEUED_LABELS, spec)).code == 201
    stamped = {"labels": {**QUEUED_LABELS["labels"], **STAMPS["labels"]}, "annotations": STAMPS["annotations"]}
    assert (await adversary.create("stamped", stamped, {})).code == 201
    assert (await adversary.apply("applied", QUEUED_LABELS, asking({"cpu": "500m"}))).code == 201

    pods = await team.until_bound(*specs, "stamped", "applied")

    await until_charged(team, "7501m")
    assert await charged(team, resource=1) == "8"
    metadata = pods["stamped"]["metadata"]
    assert (metadata["labels"][CLUSTER_QUEUE], metadata["labels"][FLAVOR]) == (team.full("cq"), team.full("spot"))
    assert metadata["annotations"][ADMITTED_AT] != STAMPS["annotations"][ADMITTED_AT]


async def test_a_local_queue_that_is_made_anew_moves_no_pod_that_runs(team: Team, adversary: Adversary) -> None:
    await team.ready({"spot": {"cpu": 4}})
    await team.cluster_queue({"spot": {"cpu": 4}}, "other")
    await team.pod("first", "4")
    await team.until_bound("first")
    await until_charged(team, "4")
    turned = {"spec": {"clusterQueue": team.full("other")}}
    assert (await adversary.edit_queue("PATCH", "main", turned)).code == 422
    assert (await adversary.edit_queue("DELETE", "main", {})).code == 200
    await team.local_queue("main", "other")

    await team.visited()

    assert (await charged(team), await charged(team, "other")) == ("4", "0")


async def test_a_preempting_class_waits_for_room_without_victims(
    team: Team, adversary: Adversary, client: Client
) -> None:
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    urgent = {"metadata": {"name": team.full("urgent")}, "value": 1000000, "preemptionPolicy": "PreemptLowerPriority"}
    await client.post(classes, urgent)
    try:
        await team.ready({"spot": {"cpu": 8}})
        await team.cluster_queue({"spot": {"cpu": 8}}, "theirs")
        await team.local_queue("theirs", "theirs")
        theirs = await team.pods(8, queue="theirs")
        before = await team.until_bound(*theirs)

        spec = {"priorityClassName": team.full("urgent")}
        reply = await adversary.create("urgent", QUEUED_LABELS, spec)
        assert (reply.code, reply.body["spec"]["preemptionPolicy"]) == (201, "PreemptLowerPriority")
        await team.until_waiting("urgent", "NoCapacity")

        after = await team.all()
        assert {after[one]["metadata"]["uid"] for one in theirs} == {before[one]["metadata"]["uid"] for one in theirs}
        assert not [one for one in theirs if "deletionTimestamp" in after[one]["metadata"]]
        await until_charged(team, "8", "theirs")
        await team.delete(theirs[0])
        await team.until_bound("urgent")
        await until_charged(team, "1")
        assert len(await team.all()) == 8
    finally:
        await client.delete(f"{classes}/{team.full('urgent')}")


async def test_a_daemon_set_that_names_a_queue_is_charged_to_it(team: Team, apiserver: Impersonation) -> None:
    await team.ready({"spot": {"cpu": 4}})
    path = f"/apis/apps/v1/namespaces/{team.namespace}/daemonsets"
    editor = Identity.of_account(team.namespace, "editor")
    body = a_daemon_set("agent", QUEUED_LABELS, cpu="4", nodeSelector={TEAM_LABEL: team.id})
    assert (await apiserver.send(editor, "POST", path, body)).code == 201
    await until_charged(team, "4")

    await team.pod("second", "1")

    await team.until_waiting("second", "QuotaExceeded")


async def test_a_daemon_set_gets_no_pods_where_a_queue_is_required(
    protected: Protected, client: Client, apiserver: Impersonation
) -> None:
    team = Team(client, protected.sandbox)
    await team.open({QUEUEING: REQUIRED})
    await Field(client, apiserver, {Where.PLAIN: team.namespace}).let_in_editors()
    try:
        await team.ready()
        path = f"/apis/apps/v1/namespaces/{team.namespace}/daemonsets"
        editor = Identity.of_account(team.namespace, "editor")
        for name, metadata in (("without-queue", {}), ("with-queue", QUEUED_LABELS)):
            assert (await apiserver.send(editor, "POST", path, a_daemon_set(name, metadata))).code == 201

        async def refused() -> bool:
            told = {e["involvedObject"]["name"] for e in await team.events() if "queue-required: " in e["message"]}
            assert told == {"without-queue", "with-queue"}
            return True

        await eventually(refused, message="the daemon sets are not told why they have no pods")
        assert await team.all() == {}
    finally:
        await team.close()


def test_the_threat_model_names_all_tests_that_exist() -> None:
    text = (Path(__file__).parents[3] / "docs" / "protection.md").read_text()
    named = set(re.findall(r"`…_(\w+?)(?:_…)?`", text))
    attempts = {name for name in globals() if name.startswith("test_") and "threat_model" not in name}
    assert named
    assert {part for part in named if not any(part in name for name in attempts)} == set()
    assert {name for name in attempts if not any(part in name for part in named)} == set()


def a_daemon_set(name: str, metadata: Json, cpu: str = "1", **spec_of_pod: Any) -> Json:
    template_labels = {"app": name, **metadata.get("labels", {})}
    template = {"metadata": {"labels": template_labels}, "spec": {**asking({"cpu": cpu}), **spec_of_pod}}
    spec = {"selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name}, "spec": spec}

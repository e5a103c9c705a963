"""Whose a pod is: whoever created its controlling owner, or the pod, in both ways of keeping the gate."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from controller.core.gate.users import POD_MAKERS
from controller.core.keys import DEFAULT_QUEUE, QUEUE_NAME, USER
from controller.kube.client import STRATEGIC_PATCH, Client
from tests.integration.protection.conftest import Protected
from tests.integration.protection.outage import Outage
from tests.support.eventually import eventually
from tests.support.impersonation import Identity, Impersonation, Reply
from tests.support.team import Team

Json = dict[str, Any]
pytestmark = pytest.mark.integration

ALICE = Identity("alice", ("system:masters", "system:authenticated"))
BOB = Identity("bob", ("system:masters", "system:authenticated"))
FORGED = {"annotations": {USER: "victim"}}
QUEUED = {"labels": {"app": "a", QUEUE_NAME: "main"}}
POD_SPEC = {"containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "100m"}}}]}
DEPLOYMENTS = "/apis/apps/v1/namespaces/{}/deployments"
JOBS = "/apis/batch/v1/namespaces/{}/jobs"


def template(metadata: Json, **spec: Any) -> Json:
    return {"metadata": metadata, "spec": {**POD_SPEC, **spec}}


def deployment(metadata: Json, name: str = "web") -> Json:
    spec = {"selector": {"matchLabels": {"app": "a"}}, "template": template(metadata)}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def job(metadata: Json, name: str = "train") -> Json:
    spec = {"template": template(metadata, restartPolicy="Never")}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


def done(reply: Reply) -> Json:
    assert reply.code in (200, 201), reply.body
    return reply.body


def user_of(holder: Json) -> str | None:
    user: str | None = holder["metadata"].get("annotations", {}).get(USER)
    return user


def note_of(owner: Json) -> str | None:
    return user_of(owner["spec"]["template"])


async def users_of_pods(team: Team, owner: str, count: int = 1) -> set[str | None]:
    """Wait for the pods whose names begin with the owner's; return whose they are."""

    async def made() -> list[str | None]:
        found = [user_of(pod) for name, pod in (await team.all()).items() if name.startswith(owner)]
        assert len(found) == count
        return found

    return set(await eventually(made, message=f"{owner} has no {count} pods"))


async def test_a_pod_is_of_who_creates_it_whatever_it_says(team: Team, apiserver: Impersonation) -> None:
    owned = {"ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "x", "controller": True}]}
    for metadata in ({}, FORGED, {**FORGED, **owned}):
        body = {"metadata": {"generateName": "p-", **QUEUED, **metadata}, "spec": POD_SPEC}
        assert user_of(done(await apiserver.send(ALICE, "POST", team.pods_path, body))) == "alice"


async def test_nobody_changes_whose_a_pod_is(team: Team, apiserver: Impersonation) -> None:
    await team.pod("one")
    path = f"{team.pods_path}/one"
    for metadata in ({"annotations": {USER: "bob"}}, {"annotations": {USER: None}}):
        reply = await apiserver.send(ALICE, "PATCH", path, {"metadata": metadata}, content_type=STRATEGIC_PATCH)
        assert (reply.code, "keys-are-ours" in reply.body["message"]) == (403, True)


async def test_pods_of_a_job_are_of_who_created_it(team: Team, apiserver: Impersonation) -> None:
    made = done(await apiserver.send(ALICE, "POST", JOBS.format(team.namespace), job({**QUEUED, **FORGED})))
    assert note_of(made) == "alice"
    assert await users_of_pods(team, "train") == {"alice"}


async def test_pods_of_a_deployment_stay_those_of_who_created_it(team: Team, apiserver: Impersonation) -> None:
    path = DEPLOYMENTS.format(team.namespace)
    assert note_of(done(await apiserver.send(ALICE, "POST", path, deployment(QUEUED)))) == "alice"
    assert await users_of_pods(team, "web") == {"alice"}
    for noted in ({USER: "victim"}, {USER: None}, {"note": "x"}):
        change = {"spec": {"template": {"metadata": {"annotations": noted}}}}
        reply = await apiserver.send(BOB, "PATCH", f"{path}/web", change, content_type=STRATEGIC_PATCH)
        assert note_of(done(reply)) == "alice"


async def test_a_template_newly_queued_is_of_who_says_so(team: Team, apiserver: Impersonation) -> None:
    path = DEPLOYMENTS.format(team.namespace)
    assert note_of(done(await apiserver.send(ALICE, "POST", path, deployment({"labels": {"app": "a"}})))) is None
    scaled = done(
        await apiserver.send(BOB, "PATCH", f"{path}/web", {"spec": {"replicas": 2}}, content_type=STRATEGIC_PATCH)
    )
    assert note_of(scaled) is None
    change = {"spec": {"template": {"metadata": {"labels": {QUEUE_NAME: "main"}}}}}
    named = await apiserver.send(BOB, "PATCH", f"{path}/web", change, content_type=STRATEGIC_PATCH)
    assert note_of(done(named)) == "bob"


async def test_a_cron_job_notes_its_user_for_its_jobs(team: Team, apiserver: Impersonation) -> None:
    spec = {"schedule": "* * * * *", "suspend": True, "jobTemplate": {"spec": job(QUEUED)["spec"]}}
    body = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly"}, "spec": spec}
    path = f"/apis/batch/v1/namespaces/{team.namespace}/cronjobs"
    made = done(await apiserver.send(ALICE, "POST", path, body))
    assert note_of(made["spec"]["jobTemplate"]) == "alice"
    # what its controller makes of it is hers; what somebody else makes by hand is theirs
    owned = {"ownerReferences": [{**owner(made, "CronJob", "batch/v1")}]}
    for who, user in ((Identity.of_account("kube-system", "cronjob-controller"), "alice"), (BOB, "bob")):
        child = job({**QUEUED, **FORGED, "annotations": {USER: "alice"}}, f"of-{user}")
        child["metadata"] |= owned
        given = Identity(who.user, (*who.groups, "system:masters"))
        assert note_of(done(await apiserver.send(given, "POST", JOBS.format(team.namespace), child))) == user


def owner(of: Json, kind: str, version: str) -> Json:
    return {
        "apiVersion": version,
        "kind": kind,
        "name": of["metadata"]["name"],
        "uid": of["metadata"]["uid"],
        "controller": True,
    }


async def test_where_a_queue_is_the_default_templates_are_noted_too(
    team: Team, client: Client, apiserver: Impersonation
) -> None:
    labels = {"metadata": {"labels": {DEFAULT_QUEUE: "main"}}}
    await client.patch(f"/api/v1/namespaces/{team.namespace}", labels, content_type=STRATEGIC_PATCH)

    async def noted() -> bool:
        made = done(await apiserver.send(ALICE, "POST", JOBS.format(team.namespace), job({}), params={"dryRun": "All"}))
        assert note_of(made) == "alice"
        return True

    # admission hears of the label a moment later
    await eventually(noted, message="the template was not noted")
    done(await apiserver.send(ALICE, "POST", JOBS.format(team.namespace), job({})))
    assert await users_of_pods(team, "train") == {"alice"}


async def test_each_user_has_a_share_of_the_queue(team: Team, apiserver: Impersonation) -> None:
    await team.ready({"spot": {"cpu": 8}}, limits=[{"name": "pods", "max": 10, "perUser": 1}])
    made = job({**QUEUED, "annotations": {"run-for": "1h"}}, "many")
    made["spec"] |= {"parallelism": 3, "completions": 3}
    done(await apiserver.send(ALICE, "POST", JOBS.format(team.namespace), made))
    assert await users_of_pods(team, "many", 3) == {"alice"}

    async def one_waits_not() -> list[str]:
        pods = await team.all()
        gated = [name for name, pod in pods.items() if pod["spec"].get("schedulingGates")]
        assert len(gated) == 2
        return gated

    gated = await eventually(one_waits_not, message="not one pod of three was admitted")
    sentence = await team.until_waiting(gated[0], "UserLimit")
    assert sentence == f"needs 1 pods, more than is free for user alice of what {team.full('cq')} gives each user"
    body = {"metadata": {"name": "bobs", **QUEUED}, "spec": POD_SPEC}
    done(await apiserver.send(BOB, "POST", team.pods_path, body))
    await team.until_bound("bobs")


@pytest.mark.more
@pytest.mark.parametrize("protected", ["webhook"], indirect=True)
async def test_the_user_goes_first_who_has_used_less_of_late(
    protected: Protected, team: Team, apiserver: Impersonation
) -> None:
    past = {"usageHalfLife": "1m", "usageBy": "LocalQueueAndUser"}
    await team.ready({"spot": {"cpu": "100m"}}, fairSharing=past)

    async def create(name: str, who: Identity) -> None:
        body = {"metadata": {"name": name, **QUEUED}, "spec": POD_SPEC}
        done(await apiserver.send(who, "POST", team.pods_path, body))

    await create("first", ALICE)
    await team.until_bound("first")
    await create("second", ALICE)
    await create("bobs", BOB)
    await team.until_waiting("bobs", "QuotaExceeded")

    async def used() -> bool:
        status = await team.status("localqueues", "main")
        return [user["name"] for user in status["fairSharing"]["users"]] == ["alice"]

    await eventually(used, seconds=90, message="the status does not say what alice has used")
    await team.end("first")
    await team.until_bound("bobs")
    assert "schedulingGates" in (await team.all())["second"]["spec"]


async def test_the_accounts_that_make_pods_are_of_this_version(team: Team, client: Client) -> None:
    accounts = orjson.loads(await client.get("/api/v1/namespaces/kube-system/serviceaccounts"))["items"]
    there = {f"system:serviceaccount:kube-system:{one['metadata']['name']}" for one in accounts}
    assert {one for one in POD_MAKERS if "serviceaccount" in one} <= there


@pytest.mark.parametrize("protected", ["webhook"], indirect=True)
async def test_nobody_forges_a_user_while_the_webhook_hangs(
    protected: Protected, team: Team, apiserver: Impersonation
) -> None:
    path = DEPLOYMENTS.format(team.namespace)
    done(await apiserver.send(ALICE, "POST", path, deployment(QUEUED)))
    async with Outage(protected).there():
        jobs = JOBS.format(team.namespace)
        honest, forging = job(QUEUED, "honest"), job({**QUEUED, **FORGED}, "forged")
        for one in (honest, forging):
            one["metadata"]["labels"] = {"app": "a"}
        assert note_of(done(await apiserver.send(ALICE, "POST", jobs, honest))) is None
        # of a Job without labels the apiserver makes the template's its own, so that it would be held as a whole
        held = await apiserver.send(ALICE, "POST", jobs, job(QUEUED, "held"))
        assert (held.code, "new-jobs.penstock.dev" in held.body["message"]) == (500, True)
        assert note_of(done(await apiserver.send(ALICE, "POST", jobs, job({}, "outside")))) is None
        forged = await apiserver.send(ALICE, "POST", jobs, forging)
        assert (forged.code, "users.penstock.dev" in forged.body["message"]) == (500, True)
        for noted in ({USER: None}, {USER: "bob"}):
            change = {"spec": {"template": {"metadata": {"annotations": noted}}}}
            reply = await apiserver.send(BOB, "PATCH", f"{path}/web", change, content_type=STRATEGIC_PATCH)
            assert (reply.code, "users.penstock.dev" in reply.body["message"]) == (500, True)
        scaled = {"spec": {"replicas": 3}, "metadata": {"labels": {"a": "b"}}}
        done(await apiserver.send(BOB, "PATCH", f"{path}/web", scaled, content_type=STRATEGIC_PATCH))

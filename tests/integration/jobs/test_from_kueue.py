"""Jobs that Kueue queued, when their namespace moves over: those that run are charged, the others wait here."""

from __future__ import annotations

from typing import Any

import pytest

from controller.core.keys import (
    ACCEPTED,
    ADMITTED_JOB,
    BREAK_GLASS,
    CLUSTER_QUEUE,
    DEFAULT_QUEUE,
    KUEUE_LABELS,
    KUEUE_QUEUE,
    KUEUE_REQUIRED_TOPOLOGY,
    PRIORITY_CLASS,
    QUEUE_NAME,
    REQUIRED_TOPOLOGY,
    USER,
)
from controller.kube.client import MERGE_PATCH, STRATEGIC_PATCH
from tests.integration.jobs.held import HeldJobs, is_stamped
from tests.integration.jobs.test_preemption import high
from tests.integration.protection.people import AS_BREAK_GLASS
from tests.support.clusters import Cluster
from tests.support.command import Done, penstock
from tests.support.eventually import eventually
from tests.support.impersonation import Identity, Reply, impersonation
from tests.support.team import TEAM_LABEL, Json, Team, is_gated

pytestmark = pytest.mark.integration
BY_KUEUE = {KUEUE_QUEUE: "main"}
KUEUE = Identity("system:serviceaccount:kueue-system:kueue-controller-manager", ("system:masters",))
BREAKING_GLASS = Identity("jane", ("system:masters", "system:authenticated", BREAK_GLASS))


class Kueue:
    """What Kueue leaves behind of Jobs in a namespace that it manages no more."""

    def __init__(self, team: Team, jobs: HeldJobs, cluster: Cluster) -> None:
        self._team = team
        self._jobs = jobs
        self._cluster = cluster

    async def runs(self, name: str, **options: Any) -> list[str]:
        """Make a Job that Kueue admitted, with the node selector that Kueue writes; return its pods."""
        chosen = {"nodeSelector": {TEAM_LABEL: self._team.id, "shape": "spot"}}
        await self._jobs.make(name, labels=BY_KUEUE, template=chosen, **{"completions": 4, **options})
        return [pod["metadata"]["name"] for pod in await self._jobs.until_runs(name, 2)]

    async def waits(self, name: str, cpu: str = "1", *, notes: Json | None = None) -> None:
        """Make a Job that Kueue keeps suspended."""
        await self._jobs.make(name, cpu, labels=BY_KUEUE, suspend=True, annotations=notes)

    async def hands_over(self, **labels: str) -> None:
        """Let Kueue's labels count here from now on."""
        body = {"metadata": {"labels": {KUEUE_LABELS: ACCEPTED, **labels}}}
        path = f"/api/v1/namespaces/{self._team.namespace}"
        await self._team.client.patch(path, body, content_type=STRATEGIC_PATCH)

        async def counts() -> bool:
            tried = await self._team.pod("tried", queue=None, labels=BY_KUEUE, params={"dryRun": "All"})
            return QUEUE_NAME in tried["metadata"]["labels"]

        await eventually(counts, message="Kueue's labels are not accepted")

    async def takes_back(self) -> None:
        """Let Kueue's labels count here no more."""
        body = {"metadata": {"labels": {KUEUE_LABELS: None}}}
        path = f"/api/v1/namespaces/{self._team.namespace}"
        await self._team.client.patch(path, body, content_type=MERGE_PATCH)

        async def counts_no_more() -> bool:
            tried = await self._team.pod("tried", queue=None, labels=BY_KUEUE, params={"dryRun": "All"})
            return QUEUE_NAME not in tried["metadata"]["labels"]

        await eventually(counts_no_more, message="Kueue's labels are still accepted")

    async def is_imported(self, *arguments: str) -> Done:
        where = ("import", "kueue-pods", "-n", self._team.namespace)
        return await penstock(self._cluster.sandbox, *where, *AS_BREAK_GLASS, *arguments)


@pytest.fixture
def kueue(team: Team, jobs: HeldJobs, cluster: Cluster) -> Kueue:
    return Kueue(team, jobs, cluster)


async def replaced(team: Team, jobs: HeldJobs, name: str, former: list[str]) -> Json:
    """Delete a pod of a Job; return the one that the Job makes in its place, on a node."""
    await team.delete(former[0])

    async def new() -> Json:
        found = [pod for pod in await jobs.pods_of(name) if pod["metadata"]["name"] not in former]
        assert len(found) == 1
        return found[0]

    return await eventually(new, message="the Job makes no pod in place of the one that is gone")


async def used(team: Team, amount: str) -> None:
    """Wait until the queue is charged with so much cpu."""

    async def is_charged() -> bool:
        status = await team.status("clusterqueues", team.full("cq"))
        (flavor,) = status["flavorsUsage"]
        (cpu,) = flavor["resources"]
        assert cpu["total"] == amount, status
        return True

    await eventually(is_charged, message=f"the queue is not charged with {amount} cpu")


async def test_a_job_that_runs_is_charged_with_its_later_pods(team: Team, jobs: HeldJobs, kueue: Kueue) -> None:
    await team.ready({"spot": {"cpu": 4}})
    pods = await kueue.runs("old")
    await kueue.hands_over()
    dry = await kueue.is_imported("--dry-run")
    where = f"LocalQueue main, ClusterQueue {team.full('cq')}, flavor {team.full('spot')}"
    assert f"Job {team.namespace}/old: {where}\n" in dry.output
    assert "2 pods, 1 running Job would be adopted" in dry.errors
    done = await kueue.is_imported()
    assert done.output == f"Adopted 2 pods, 1 running Job ({team.full('cq')}/{team.full('spot')} 2).\n", done
    await used(team, "2")
    uid = (await jobs.get("old"))["metadata"]["uid"]
    assert {pod["metadata"]["annotations"][ADMITTED_JOB] for pod in await jobs.pods_of("old")} == {uid}

    later = await replaced(team, jobs, "old", pods)
    assert (is_gated(later), QUEUE_NAME in later["metadata"]["labels"]) == (False, False)
    await team.until_bound(later["metadata"]["name"])
    await jobs.make("next", parallelism=3)
    await jobs.until_waiting("next", "QuotaExceeded")
    await used(team, "2")
    # the command charges a later pod itself, and its Job for one less
    assert (await kueue.is_imported()).output.startswith("Adopted 1 pod (")
    await used(team, "2")
    await jobs.change("old", {"parallelism": 1})
    await jobs.until_runs("next", 3)
    await used(team, "4")


@pytest.mark.more
async def test_an_adopted_job_that_is_suspended_waits_here(team: Team, jobs: HeldJobs, kueue: Kueue) -> None:
    await team.ready({"spot": {"cpu": 2}})
    await kueue.runs("old")
    await kueue.hands_over()
    assert (await kueue.is_imported()).code == 0
    await team.change("clusterqueues", team.full("cq"), {"stopPolicy": "HoldAndDrain"})
    await jobs.until_waiting("old", "QueueStopped")
    assert CLUSTER_QUEUE not in (await jobs.get("old"))["metadata"]["labels"]
    assert (await jobs.get("old"))["status"].get("failed", 0) == 0
    await team.change("clusterqueues", team.full("cq"), {"stopPolicy": "None"})
    await jobs.until_runs("old", 2, flavor="spot")
    assert is_stamped(await jobs.get("old"))


@pytest.mark.more
async def test_a_job_that_waited_in_kueue_waits_here(
    team: Team, jobs: HeldJobs, kueue: Kueue, cluster: Cluster
) -> None:
    await team.ready({"spot": {"cpu": 2}}, stopPolicy="Hold")
    await kueue.waits("old", notes={KUEUE_REQUIRED_TOPOLOGY: "shape"})
    await kueue.hands_over()
    nobodys = f"Jobs of Kueue in namespace {team.namespace} (old)"
    assert nobodys in (await penstock(cluster.sandbox, "doctor")).output
    done = await kueue.is_imported()
    assert (done.code, done.output) == (0, "Adopted 1 waiting Job.\n"), done
    assert nobodys not in (await penstock(cluster.sandbox, "doctor")).output
    await jobs.until_waiting("old", "QueueStopped")
    notes = (await jobs.get("old"))["spec"]["template"]["metadata"]["annotations"]
    assert (notes[REQUIRED_TOPOLOGY], notes[USER]) == ("shape", "jane")
    assert (await kueue.is_imported()).output == "Adopted 0 pods.\n"
    await team.change("clusterqueues", team.full("cq"), {"stopPolicy": "None"})
    await jobs.until_runs("old", 2, flavor="spot")


async def test_where_new_pods_are_gated_no_job_is_charged(team: Team, jobs: HeldJobs, kueue: Kueue) -> None:
    await team.ready({"spot": {"cpu": 2}})
    pods = await kueue.runs("old")
    await kueue.hands_over(**{DEFAULT_QUEUE: "main"})
    done = await kueue.is_imported()
    assert done.output.startswith("Adopted 2 pods ("), done
    assert CLUSTER_QUEUE not in (await jobs.get("old"))["metadata"]["labels"]
    later = await replaced(team, jobs, "old", pods)
    assert later["metadata"]["labels"][QUEUE_NAME] == "main"
    await team.until_bound(later["metadata"]["name"])
    await used(team, "2")


async def test_a_namespace_moves_over_and_back(team: Team, jobs: HeldJobs, kueue: Kueue, cluster: Cluster) -> None:
    await team.ready({"spot": {"cpu": 2}})
    await kueue.waits("one")
    await kueue.waits("two")
    async with impersonation(cluster.sandbox) as apiserver:

        async def begun_by_kueue(name: str) -> Reply:
            body = {"spec": {"suspend": False, "template": {"spec": {"nodeSelector": {"shape": "spot"}}}}}
            return await apiserver.send(KUEUE, "PATCH", f"{jobs.path}/{name}", body, content_type=MERGE_PATCH)

        # as long as the namespace is Kueue's, we have no part in what it does
        assert (await begun_by_kueue("one")).code == 200
        await jobs.until_runs("one", 2)
        assert CLUSTER_QUEUE not in (await jobs.get("one"))["metadata"]["labels"]

        await kueue.hands_over()
        assert (await kueue.is_imported()).code == 0
        await jobs.until_waiting("two", "QuotaExceeded")
        refused = await begun_by_kueue("two")
        assert (refused.code, "job-is-held: spec.suspend" in refused.body["message"]) == (403, True)

        await team.change("localqueues", "main", {"stopPolicy": "HoldAndDrain"})
        for name in ("one", "two"):
            await jobs.until_waiting(name, "QueueStopped")
            assert not is_stamped(await jobs.get(name))
            labels = {"metadata": {"labels": {QUEUE_NAME: None, PRIORITY_CLASS: None}}}
            path = f"{jobs.path}/{name}"
            given = await apiserver.send(BREAKING_GLASS, "PATCH", path, labels, content_type=MERGE_PATCH)
            assert given.code == 200, given.body
        await kueue.takes_back()

        for name in ("one", "two"):
            begun = await begun_by_kueue(name)
            assert begun.code == 200, begun.body
            pods = await jobs.until_runs(name, 2)
            assert not [pod for pod in pods if QUEUE_NAME in pod["metadata"]["labels"]]
    new = await jobs.make("new", labels=BY_KUEUE, suspend=False)
    assert (new["spec"]["suspend"], QUEUE_NAME in new["metadata"]["labels"]) == (False, False)


@pytest.mark.more
async def test_an_adopted_job_is_preempted_as_a_whole(team: Team, jobs: HeldJobs, kueue: Kueue) -> None:
    await team.ready({"spot": {"cpu": 2}}, preemption={"withinClusterQueue": "LowerPriority"})
    pods = await kueue.runs("old")
    await kueue.hands_over()
    assert (await kueue.is_imported()).code == 0
    await replaced(team, jobs, "old", pods)
    await jobs.make("urgent", labels=await high(team))
    # of what is not stamped nobody knows that it may go
    text = await jobs.until_waiting("urgent", "QuotaExceeded")
    assert "preemption would not make room for it now" in text
    assert (await kueue.is_imported()).code == 0
    await jobs.until_runs("urgent", 2)
    await jobs.until_waiting("old", "QuotaExceeded")
    # the pod that was deleted above, and none for the preemption
    assert (await jobs.get("old"))["status"]["failed"] == 1

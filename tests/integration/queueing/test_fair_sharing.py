"""Fair sharing on a real control plane: who came second takes its half back, and no more."""

from __future__ import annotations

import pytest

from tests.support.eventually import eventually
from tests.support.team import Team, is_gated
from tests.support.team_owners import a_replica_set, pods_of, until_running

pytestmark = pytest.mark.integration


async def test_two_queues_that_borrow_come_to_the_same_share(team: Team) -> None:
    await team.nodes("spot", cpu="8", memory="32Gi")
    await team.flavor("spot")
    await team.cluster_queue({"spot": {"cpu": 4}}, "org", fairSharing={})
    for name in ("mine", "theirs"):
        preemption = {"reclaimWithinCohort": "Any"} if name == "mine" else {}
        await team.cluster_queue({"spot": {"cpu": 0}}, name, parent=team.full("org"), preemption=preemption)
    await team.local_queue("main", "theirs")
    await team.local_queue("mine", "mine")
    await a_replica_set(team, "web", 4)
    await until_running(team, "web", 4)
    for name in ("first", "second", "third"):
        await team.pod(name, queue="mine")
    await team.until_bound("first")
    await team.until_bound("second")

    async def even() -> bool:
        pods = await pods_of(team, "web")
        assert [sum(map(is_gated, pods)), len(pods)] == [2, 4]
        assert is_gated((await team.all())["third"])
        for name in ("mine", "theirs"):
            status = await team.status("clusterqueues", team.full(name))
            assert status["fairSharing"] == {"weightedShare": 500}
        return True

    await eventually(even, seconds=40, message="the two queues did not come to the same share")

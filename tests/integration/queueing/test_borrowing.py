"""Queues of one parent: they borrow what the others leave free, and say so."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.eventually import eventually
from tests.support.team import Json, Team

pytestmark = pytest.mark.integration


@pytest.fixture
async def siblings(team: Team) -> Team:
    """Two queues of 2 cpu each below `org`; room for all. LocalQueues `main` and `other` lead to them."""
    await team.nodes("spot", cpu="16", memory="32Gi")
    await team.flavor("spot")
    await team.cluster_queue({}, "org")
    for queue, door in (("cq", "main"), ("other", "other")):
        await team.cluster_queue({"spot": {"cpu": 2}}, queue, parent=team.full("org"))
        await team.local_queue(door, queue)
    return team


def usage_of(status: Json) -> dict[str, str]:
    resource: dict[str, str] = status["flavorsUsage"][0]["resources"][0]
    return {name: resource[name] for name in ("total", "quota", "borrowed")}


async def test_a_queue_borrows_and_the_lender_gets_it_back(siblings: Team) -> None:
    team = siblings
    await team.pods(3, prefix="borrower")
    await team.until_bound("borrower-0", "borrower-1", "borrower-2")
    await team.pod("owner", "2", queue="other")
    message = await team.until_waiting("owner", "ParentQueueLimit")
    assert message == (
        f"flavor {team.full('spot')}: needs 2 cpu, more than is free of its quota and what it may borrow "
        f"(limited at {team.full('org')})"
    )

    async def borrowed() -> bool:
        found = {name: usage_of(await team.status("clusterqueues", team.full(name))) for name in ("cq", "org")}
        assert found == {
            "cq": {"total": "3", "quota": "2", "borrowed": "1"},
            "org": {"total": "3", "quota": "4", "borrowed": "0"},
        }
        return True

    await eventually(borrowed, message="the status does not show what is borrowed")
    await team.end("borrower-0")
    await team.until_bound("owner")


async def test_a_parent_that_is_held_holds_all_below_it(siblings: Team) -> None:
    team = siblings
    await team.change("clusterqueues", team.full("org"), {"stopPolicy": "Hold"})
    await team.visited()
    await team.pod("one")
    await team.pod("two", queue="other")
    said = f"ClusterQueue {team.full('org')} has stopPolicy Hold"
    assert [await team.until_waiting(name, "QueueStopped") for name in ("one", "two")] == [said, said]
    await team.change("clusterqueues", team.full("org"), {"stopPolicy": "None"})
    await team.until_bound("one", "two")


async def test_limits_hold_for_all_queues_below(siblings: Team) -> None:
    team = siblings
    await team.change("clusterqueues", team.full("org"), {"limits": [{"name": "pods", "max": 2}]})
    await team.pod("one")
    await team.pod("two", queue="other")
    await team.until_bound("one", "two")
    await team.pod("three")
    message = await team.until_waiting("three", "QueueLimit")
    assert message == f"needs 1 pods, more than is free of the limit of {team.full('org')}"


@pytest.mark.parametrize(
    ("parent", "said"),
    [
        ("nowhere", "spec.parent: ClusterQueue {} does not exist; create it, or name another"),
        ("cq", "spec.parent: {0} → {0} is a circle; make one of them a root"),
    ],
)
async def test_a_broken_tree_is_told_by_queue_and_pod(siblings: Team, parent: str, said: str) -> None:
    team = siblings
    await team.change("clusterqueues", team.full("cq"), {"parent": team.full(parent)})
    expected = f"ClusterQueue {team.full('cq')}: {said.format(team.full(parent))}"

    async def told() -> bool:
        conditions: list[dict[str, Any]] = (await team.status("clusterqueues", team.full("cq")))["conditions"]
        active = next(one for one in conditions if one["type"] == "Active")
        assert (active["reason"], active["message"]) == ("ParentNotUsable", expected)
        return True

    await eventually(told, message="the queue does not say that its parent is wrong")
    await team.pod("lost")
    assert await team.until_waiting("lost", "QueueInvalid") == expected
    await team.pod("fine", queue="other")
    await team.until_bound("fine")
    await team.pod("above", queue="up")
    await team.local_queue("up", "org")
    message = await team.until_waiting("above", "QueueInvalid")
    assert message == (
        f"ClusterQueue {team.full('org')} takes no pods itself: use one of the queues below it ({team.full('other')})"
    )

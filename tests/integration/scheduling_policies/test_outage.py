"""What goes on, and what does not, while the webhook does not answer."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from controller.core.keys import FLAVOR
from controller.kube.errors import ApiError
from tests.support.accounts import AccountTeam
from tests.support.clusters import Cluster
from tests.support.eventually import eventually
from tests.support.team import is_gated

pytestmark = pytest.mark.integration

GATED = {"schedulingGates": [{"name": "example.com/other"}]}
AWAY = 'failed calling webhook ".*scheduling-policies.penstock.dev"'


@asynccontextmanager
async def away(cluster: Cluster) -> AsyncIterator[None]:
    """The webhook hangs: that is the worst way in which it can be away."""
    cluster.programs.webhook.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        cluster.programs.webhook.process.send_signal(signal.SIGCONT)


async def test_nothing_gets_in_unjudged_and_what_is_there_can_go_on(team: AccountTeam, cluster: Cluster) -> None:
    await team.policy("own", allowed={"nodeSelectors": {}})
    await team.in_effect()
    await team.pod("one", queue=None, spec=GATED)
    async with away(cluster):
        with pytest.raises(ApiError, match=AWAY):
            await team.pod("two", queue=None)
        with pytest.raises(ApiError, match=AWAY):
            await team.patch("one", [{"op": "add", "path": "/spec/nodeSelector", "value": {"a": "b"}}])
        await team.patch("one", [{"op": "add", "path": "/metadata/labels", "value": {"app": "a"}}])
        await team.patch("one", [{"op": "remove", "path": "/spec/schedulingGates"}])
        await team.delete("one")
    assert await team.all() == {}

    async def back() -> bool:
        return bool((await team.tried())[0]["kind"] == "Pod")

    await eventually(back, message="the webhook does not come back")


async def test_queued_pods_are_released_meanwhile(team: AccountTeam, cluster: Cluster) -> None:
    await team.ready(stopPolicy="Hold")
    await team.policy("own", allowed={})
    await team.in_effect()
    assert is_gated(await team.pod("one"))
    async with away(cluster):
        await team.change("clusterqueues", team.full("cq"), {"stopPolicy": "None"})
        bound = (await team.until_bound("one"))["one"]
    assert bound["metadata"]["labels"][FLAVOR] == team.full("spot")

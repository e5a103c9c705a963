"""A release patch that arrives late never lets more through the gate than the quota: here one pod of two."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from controller.core.keys import RELEASE_ATTEMPT
from controller.sandbox.installation import Gate
from tests.faults.leaders.rivals import (
    Rivals,
    is_release,
    is_revocation,
    open_queue,
    released,
    until_held,
    until_released,
)
from tests.support.apiserver_proxy import ApiserverProxy, Reply, Request
from tests.support.eventually import eventually
from tests.support.team import Team

pytestmark = pytest.mark.integration

NO = Reply(
    403,
    orjson.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403}),
    "application/json",
)

EDITS: dict[str, dict[str, Any]] = {
    "annotation": {"op": "add", "path": "/metadata/annotations/by", "value": "jane"},
    "toleration": {"op": "add", "path": "/spec/tolerations/-", "value": {"key": "a", "operator": "Exists"}},
}
ONCE = pytest.mark.parametrize("cluster", [Gate.WEBHOOK], ids=["webhook"], indirect=True)
"""What keeps the gate has no share in these."""


@pytest.fixture
async def waiting(team: Team, rivals: Rivals) -> Team:
    """Pods first and second wait, in this order, and the queue is for one."""
    await rivals.start("leader", is_disturbed=True)
    await team.pod("first")
    await team.pod("second")
    await team.visited()
    return team


async def attempt(team: Team, name: str) -> str | None:
    annotations: dict[str, Any] = (await team.get(name))["metadata"].get("annotations", {})
    return annotations.get(RELEASE_ATTEMPT)


async def test_a_patch_that_is_late_is_revoked_before_others_go(waiting: Team, proxy: ApiserverProxy) -> None:
    held = proxy.hold(is_release("first"), times=1)
    await open_queue(waiting)
    late = await until_held(held)
    await until_released(waiting, "second")
    assert await attempt(waiting, "first") == "1"
    assert await late.let_go() == 422
    assert await released(waiting) == {"second"}


@ONCE
async def test_while_no_revocation_is_answered_the_quota_stays_taken(waiting: Team, proxy: ApiserverProxy) -> None:
    held = proxy.hold(is_release("first"), times=1)
    revocations = proxy.hold(is_revocation("first"), times=1)
    refused: list[Request] = []

    async def refuse(request: Request) -> Reply:
        refused.append(request)
        return NO

    proxy.on(is_revocation("first"), refuse)
    await open_queue(waiting)
    late = await until_held(held)
    await until_held(revocations)
    await eventually(lambda: len(refused) >= 2, message="the revocation is not tried again")
    assert await released(waiting) == set()
    assert await late.let_go() == 200
    await until_released(waiting, "first")
    await waiting.until_waiting("second", "QuotaExceeded")


@ONCE
async def test_a_late_revocation_revokes_nothing_that_came_after_it(waiting: Team, proxy: ApiserverProxy) -> None:
    held = proxy.hold(is_release("first"), times=1)
    revocations = proxy.hold(is_revocation("first"), times=1)
    await open_queue(waiting)
    await until_held(held)
    late = await until_held(revocations)
    await until_released(waiting, "second")
    assert await late.let_go() == 422
    assert await attempt(waiting, "first") == "1"
    await waiting.end("second")
    await until_released(waiting, "first", "second")
    assert await held[0].let_go() == 422


@ONCE
@pytest.mark.more
async def test_a_patch_that_lands_before_the_revocation_is_a_release(waiting: Team, proxy: ApiserverProxy) -> None:
    held = proxy.hold(is_release("first"), times=1)

    async def release_first(request: Request) -> Reply:
        assert await held[0].let_go() == 200
        return await proxy.send(request)

    proxy.on(is_revocation("first"), release_first, times=1)
    await open_queue(waiting)
    await until_released(waiting, "first")
    await waiting.until_waiting("second", "QuotaExceeded")
    assert await released(waiting) == {"first"}


@ONCE
async def test_a_lost_reply_counts_one_release(waiting: Team, proxy: ApiserverProxy) -> None:
    proxy.lose_replies(is_release("first"))
    await open_queue(waiting)
    await until_released(waiting, "first")
    await waiting.until_waiting("second", "QuotaExceeded")
    assert await released(waiting) == {"first"}


@ONCE
@pytest.mark.more
async def test_a_namesake_does_not_get_the_late_patch(waiting: Team, proxy: ApiserverProxy) -> None:
    held = proxy.hold(is_release("first"), times=1)
    await open_queue(waiting)
    late = await until_held(held)
    await waiting.delete("first")
    await until_released(waiting, "second")
    # only now: made within the same second it would go before the other, by its name
    await waiting.pod("first")
    assert await late.let_go() == 422
    assert await released(waiting) == {"second"}


@ONCE
@pytest.mark.more
@pytest.mark.parametrize("edit", EDITS)
async def test_an_edit_in_between_leaves_the_quota_whole(waiting: Team, proxy: ApiserverProxy, edit: str) -> None:
    held = proxy.hold(is_release("first"), times=1)
    revocations = proxy.hold(is_revocation("first"), times=1)
    await open_queue(waiting)
    late = await until_held(held)
    await waiting.patch("first", [EDITS[edit]])
    if edit == "annotation":
        # one of the spec makes the patch impossible by itself
        await until_held(revocations)
    # whoever goes first by now: only one is through when all that was sent has arrived
    await eventually(lambda: some_released(waiting), message="nobody came through the gate")
    for one in (late, *revocations):
        assert await one.let_go() in (200, 422)
    await waiting.visited("again")
    assert len(await released(waiting)) == 1


async def some_released(team: Team) -> bool:
    return bool(await released(team))

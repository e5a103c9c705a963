"""Rights as they come and go: who may use a policy is what RBAC says now."""

from __future__ import annotations

from typing import Any

import pytest

from controller.kube.client import MERGE_PATCH
from tests.support.accounts import AccountTeam
from tests.support.eventually import eventually
from tests.support.rbac_objects import API, a_binding, a_role, a_rule, group, path_of

pytestmark = pytest.mark.integration

SSD = {"disk": "ssd"}
BITES_SECONDS = 10


async def passes(team: AccountTeam, **spec: Any) -> bool:
    return bool((await team.tried(**spec))[0]["kind"] == "Pod")


async def test_a_right_that_is_taken_away_bites(team: AccountTeam) -> None:
    plain = await team.policy("a", allowed={})
    more = await team.policy("b", allowed={"nodeSelectors": {"disk": []}}, grant=False)
    binding = await team.grant(more)
    await team.in_effect()
    assert await passes(team, nodeSelector=SSD)
    await team.client.delete(binding)

    async def refused() -> bool:
        return not await passes(team, nodeSelector=SSD)

    await eventually(refused, seconds=BITES_SECONDS, message="the right is still there")
    assert await passes(team)
    role = f"/apis/{API}/v1/clusterroles/{plain}-default"
    await team.client.patch(role, {"rules": []}, content_type=MERGE_PATCH)

    async def all_refused() -> bool:
        return not await passes(team)

    await eventually(all_refused, seconds=BITES_SECONDS, message="the right is still there")


async def test_a_right_may_be_given_to_a_whole_namespace(team: AccountTeam) -> None:
    await team.account("other")
    name = await team.policy("own", allowed={"nodeSelectors": {"disk": []}}, grant=False)
    await team.in_effect()
    assert not await passes(team, serviceAccountName="other")
    role = a_role(team.full("use"), a_rule(name))
    binding = a_binding(team.full("use"), team.full("use"), group(f"system:serviceaccounts:{team.namespace}"))
    for document in (role, binding):
        await team.client.post(path_of(document), document)
    try:
        for account in ("default", "other"):
            await eventually(
                lambda account=account: passes(team, serviceAccountName=account, nodeSelector=SSD),  # type: ignore[misc]
                seconds=BITES_SECONDS,
                message="the right is not there",
            )
    finally:
        for document in (binding, role):
            await team.client.delete(f"{path_of(document)}/{document['metadata']['name']}")


async def test_a_policy_that_is_gone_or_changed_counts_no_more(team: AccountTeam) -> None:
    await team.policy("a", allowed={})
    name = await team.policy("b", allowed={"nodeSelectors": {"disk": []}})
    await team.in_effect()
    assert await passes(team, nodeSelector=SSD)
    path = f"/apis/penstock.dev/v1alpha1/schedulingpolicies/{name}"
    await team.client.patch(path, {"spec": {"allowed": {"nodeSelectors": {"disk": ["hdd"]}}}}, content_type=MERGE_PATCH)

    async def refused() -> bool:
        return not await passes(team, nodeSelector=SSD)

    await eventually(refused, seconds=BITES_SECONDS, message="the former policy still counts")
    assert await passes(team, nodeSelector={"disk": "hdd"})
    await team.client.delete(path)

    async def hdd_refused() -> bool:
        return not await passes(team, nodeSelector={"disk": "hdd"})

    await eventually(hdd_refused, seconds=BITES_SECONDS, message="the deleted policy still counts")

"""What SchedulingPolicies say of themselves, and what becomes of pods while one is faulty."""

from __future__ import annotations

import orjson
import pytest

from controller.core.kubernetes.directives import REQUIRED
from tests.support.accounts import POLICIES_PATH, AccountTeam, noted_of
from tests.support.api_objects import node_terms
from tests.support.eventually import eventually
from tests.support.team import OURS, Json

pytestmark = pytest.mark.integration

ZONES = {"keys": ["zone"], "operators": ["In"], "values": ["a"]}
OUTSIDE_ITS_FORMS: Json = {
    "allowed": {"affinities": {"nodeAffinities": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [ZONES]}]}}}},
    "default": {"affinity": node_terms({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]})},
}
"""What the apiserver takes, since its rules have no budget to compare the values of node affinities."""


async def says(team: AccountTeam, name: str, *, pods: int = 0, active: str = "True Ready") -> str:
    """Wait until the policy's status says this of the spec as it is; return the condition's message."""

    async def said() -> str:
        found = orjson.loads(await team.client.get(f"{OURS}/{POLICIES_PATH}/{name}"))
        condition = next(c for c in found["status"]["conditions"] if c["type"] == "Active")
        assert condition["observedGeneration"] == found["metadata"]["generation"]
        assert (found["status"]["pods"], f"{condition['status']} {condition['reason']}") == (pods, active)
        return str(condition["message"])

    return await eventually(said, message=f"{name} does not say {pods} and {active}")


async def test_a_policy_counts_the_pods_that_it_changed(team: AccountTeam) -> None:
    name = await team.policy("own", default={"nodeSelector": {"a": "b"}})
    quiet = await team.policy("quiet", mode="Audit", default={"nodeSelector": {"c": "d"}})
    await team.in_effect()
    await says(team, name)
    pods = [await team.pod(pod, queue=None) for pod in ("one", "two")]
    assert [noted_of(pod) for pod in pods] == [f"SchedulingPolicy/{name}"] * 2
    await team.pod("three", queue=None, spec={"nodeSelector": {"a": "b"}})
    await says(team, name, pods=2)
    assert await says(team, quiet) == "Writes to the audit log about pods of accounts that may use it"
    await team.delete("two")
    await says(team, name, pods=1)


async def test_a_faulty_policy_refuses_pods_until_it_is_mended(team: AccountTeam) -> None:
    name = await team.policy("own", **OUTSIDE_ITS_FORMS)
    message = await says(team, name, active="False Invalid")
    assert message.startswith("spec.default.affinity")
    text = (
        f"may use none of the SchedulingPolicies that are valid; correct SchedulingPolicy '{name}', which is faulty "
        "(see its status)"
    )

    async def judged() -> bool:
        return text in str((await team.tried())[0].get("message"))

    await eventually(judged, message="the faulty policy does not count")
    mended_terms = node_terms({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]})
    await team.change(POLICIES_PATH, name, {"default": {"affinity": mended_terms}})
    await says(team, name)

    async def mended() -> bool:
        return bool((await team.tried())[0]["kind"] == "Pod")

    await eventually(mended, message="the mended policy does not count")


async def test_a_faulty_policy_that_is_not_enforced_refuses_nothing(team: AccountTeam) -> None:
    name = await team.policy("own", mode="Warn", **OUTSIDE_ITS_FORMS)
    await says(team, name, active="False Invalid")

    async def warned() -> bool:
        pod, warnings = await team.tried()
        assert pod["kind"] == "Pod"
        return any(f"correct SchedulingPolicy '{name}'" in warning for warning in warnings)

    await eventually(warned, message="nobody is told of the faulty policy")

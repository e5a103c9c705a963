"""Updates of gated pods as the apiserver lets us judge them."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from controller.core.keys import POLICIES
from controller.kube.client import JSON_PATCH
from controller.kube.errors import Forbidden
from tests.integration.pod_policies.conftest import PolicyTeam
from tests.support import plain_http
from tests.support.api_objects import requirement
from tests.support.eventually import eventually
from tests.support.pod_update_rules import PREFERRED
from tests.support.team import Json, is_gated

pytestmark = pytest.mark.integration

FOREIGN = {"schedulingGates": [{"name": "example.com/other"}]}
SELECTED = {"matchLabels": {"app": "a"}}
SELECT: list[Json] = [{"op": "add", "path": "/metadata/labels/app", "value": "a"}]
OPEN: list[Json] = [{"op": "remove", "path": "/spec/schedulingGates"}]
PREFER = {"weight": 3, "preference": {"matchExpressions": [requirement("Exists", key="zone")]}}


async def dry(team: PolicyTeam, name: str, operations: list[Json]) -> Json:
    """The pod as the update would leave it."""
    path = f"{team.pods_path}/{name}"
    body = await team.client.patch(path, operations, content_type=JSON_PATCH, params={"dryRun": "All"})
    decoded: Json = orjson.loads(body)
    return decoded


@pytest.fixture
async def judged(team: PolicyTeam) -> PolicyTeam:
    """The team, once updates of its pods are shown to the webhook."""
    await team.policy("probe", podSelector={"matchLabels": {"judged": "yes"}}, nodeSelector={"judged": "yes"})
    await team.in_effect()
    await team.pod("judged", queue=None, spec=FOREIGN)

    async def refused() -> bool:
        try:
            await dry(team, "judged", [{"op": "add", "path": "/metadata/labels", "value": {"judged": "yes"}}])
        except Forbidden:
            return True
        return False

    await eventually(refused, message="updates are not judged")
    return team


async def a_gated_pod(team: PolicyTeam, **options: Any) -> Json:
    labels = options.pop("labels", {"mine": "x"})
    return await team.pod("one", queue=None, labels=labels, spec={**FOREIGN, **options})


async def test_labels_that_newly_select_a_gated_pod_are_refused(judged: PolicyTeam) -> None:
    await judged.policy("own", podSelector=SELECTED, nodeSelector={"a": "b"})
    await judged.in_effect()
    before = await a_gated_pod(judged)
    for attempt in (judged.patch, lambda *args: dry(judged, *args)):
        with pytest.raises(Forbidden) as refused:
            await attempt("one", SELECT)
        assert refused.value.message == (
            "admission webhook \"pod-policies.penstock.dev\" denied the request: PodSchedulingPolicy 'own' refuses the "
            "update: spec.nodeSelector lacks a=b; the new labels make the policy select the pod: add this in the same "
            "update, or leave the labels as they are"
        )
    assert await judged.get("one") == before
    both = [*SELECT, {"op": "add", "path": "/spec/nodeSelector", "value": {"a": "b"}}]
    assert (await judged.patch("one", both))["metadata"]["labels"]["app"] == "a"


async def test_taking_away_a_preference_that_a_policy_gave_is_refused(judged: PolicyTeam) -> None:
    await judged.policy("own", affinity={"nodeAffinity": {PREFERRED: [PREFER]}})
    await judged.in_effect()
    await a_gated_pod(judged)
    path = f"/spec/affinity/nodeAffinity/{PREFERRED}"
    with pytest.raises(Forbidden, match="lacks the preferred term of weight 3 for zone Exists; leave the pod"):
        await judged.patch("one", [{"op": "replace", "path": path, "value": []}])
    more = {"weight": 1, "preference": {"matchExpressions": [requirement("Exists", key="mine")]}}
    changed = await judged.patch("one", [{"op": "add", "path": f"{path}/0", "value": more}])
    assert [one["weight"] for one in changed["spec"]["affinity"]["nodeAffinity"][PREFERRED]] == [1, 3]


async def test_updates_that_do_not_concern_a_policy_pass(judged: PolicyTeam) -> None:
    await a_gated_pod(judged, labels={"app": "a"})
    # written after the pod, which does not have what it wants
    await judged.policy("late", podSelector=SELECTED, nodeSelector={"a": "b"}, tolerations=[{"key": "spot"}])
    await judged.in_effect()
    await judged.patch("one", [{"op": "add", "path": "/metadata/labels/mine", "value": "y"}])
    await judged.patch("one", [{"op": "add", "path": "/metadata/annotations", "value": {"note": "x"}}])
    await judged.patch("one", [{"op": "add", "path": "/spec/nodeSelector", "value": {"c": "d"}}])
    assert "schedulingGates" not in (await judged.patch("one", OPEN))["spec"]


async def test_a_pod_without_a_gate_is_not_judged(judged: PolicyTeam) -> None:
    await judged.policy("own", podSelector=SELECTED, nodeSelector={"a": "b"})
    await judged.in_effect()
    await judged.pod("one", queue=None, labels={"mine": "x"})
    assert (await judged.patch("one", SELECT))["metadata"]["labels"]["app"] == "a"


async def test_a_new_conflict_with_a_policy_that_rejects_is_refused(judged: PolicyTeam) -> None:
    await judged.policy("own", podSelector=SELECTED, onConflict="Reject", nodeSelector={"a": "b"})
    await judged.in_effect()
    await a_gated_pod(judged, nodeSelector={"a": "c"})
    with pytest.raises(Forbidden, match=r"spec.nodeSelector\[a\] is 'c', not 'b'; the new labels make the policy"):
        await judged.patch("one", SELECT)


async def test_policies_that_are_not_enforced_tell_and_let_pass(judged: PolicyTeam) -> None:
    await judged.policy("warned", podSelector=SELECTED, mode="Warn", nodeSelector={"a": "b"})
    await judged.policy("told", podSelector=SELECTED, mode="Audit", nodeSelector={"c": "d"})
    await judged.in_effect()
    await a_gated_pod(judged)
    changed, warnings = await plain_http.patch(judged.sandbox, f"{judged.pods_path}/one", SELECT)
    assert changed["metadata"]["labels"]["app"] == "a"
    assert len(warnings) == 1
    assert (
        "PodSchedulingPolicy 'warned' (mode Warn) would refuse the update: spec.nodeSelector lacks a=b" in warnings[0]
    )

    def logged() -> bool:
        lines = [line for line in judged.sandbox.audit_log.read_text().splitlines() if judged.namespace in line]
        return any(
            "pod-policies.penstock.dev/policies-broken" in line
            and f"{judged.namespace}/told: spec.nodeSelector" in line
            for line in lines
        )

    await eventually(logged, message="nothing in the audit log")


async def test_nothing_holds_up_a_pod_that_is_being_deleted(judged: PolicyTeam) -> None:
    await judged.policy("own", podSelector=SELECTED, nodeSelector={"a": "b"})
    await judged.in_effect()
    await a_gated_pod(judged)
    await judged.patch("one", [{"op": "add", "path": "/metadata/finalizers", "value": ["example.com/mine"]}])
    await judged.delete("one")
    assert (await judged.patch("one", SELECT))["metadata"]["labels"]["app"] == "a"
    await judged.patch("one", [{"op": "remove", "path": "/metadata/finalizers"}])
    assert not await judged.exists(f"{judged.pods_path}/one")


async def test_the_controllers_release_is_not_judged(judged: PolicyTeam) -> None:
    await judged.ready(stopPolicy="Hold")
    pod = await judged.pod("one")
    assert is_gated(pod)
    # written after the pod; the flavor's words will contradict it
    await judged.policy("late", onConflict="Reject", nodeSelector={"shape": "other"})
    await judged.in_effect()
    wrong: Json = {"op": "add", "path": "/spec/nodeSelector", "value": {"shape": "spot"}}
    with pytest.raises(Forbidden, match=r"spec.nodeSelector\[shape\] is 'spot', not 'other'"):
        await dry(judged, "one", [wrong])
    await judged.change("clusterqueues", judged.full("cq"), {"stopPolicy": "None"})
    bound = (await judged.until_bound("one"))["one"]
    assert POLICIES not in bound["metadata"]["annotations"]

"""Updates of pods, held against the SchedulingPolicies of their account."""

from __future__ import annotations

from typing import Any

import pytest

from controller.core.keys import FLAVOR
from controller.kube.errors import Forbidden
from tests.support import plain_http
from tests.support.accounts import AccountTeam
from tests.support.api_objects import node_terms, requirement
from tests.support.eventually import eventually
from tests.support.pod_update_rules import REQUIRED
from tests.support.team import Json, is_gated

pytestmark = pytest.mark.integration

GATED = {"schedulingGates": [{"name": "example.com/other"}]}
SPOT = {"key": "spot", "operator": "Exists", "effect": "NoSchedule"}
OTHER = {"key": "other", "operator": "Exists", "effect": "NoSchedule"}
ALLOWS_SPOT = [{"keys": ["spot"], "operators": ["Exists"], "effects": ["NoSchedule"]}]


def tolerate(toleration: Json) -> list[Json]:
    return [{"op": "add", "path": "/spec/tolerations/-", "value": toleration}]


def select(**pairs: str) -> list[Json]:
    return [{"op": "add", "path": "/spec/nodeSelector", "value": pairs}]


async def test_narrowing_to_what_is_not_allowed_is_refused(team: AccountTeam) -> None:
    name = await team.policy("own", allowed={"nodeSelectors": {"disk": ["ssd"]}})
    await team.in_effect()
    before = await team.pod("one", queue=None, spec=GATED)
    with pytest.raises(Forbidden) as refused:
        await team.patch("one", select(disk="hdd"))
    assert refused.value.message == (
        'admission webhook "updates.scheduling-policies.penstock.dev" denied the request: spec.nodeSelector[disk] is '
        f"'hdd', allowed is 'ssd' (allowed.nodeSelectors[disk] of SchedulingPolicy '{name}')"
    )
    assert (await team.get("one"))["spec"] == before["spec"]
    assert (await team.patch("one", select(disk="ssd")))["spec"]["nodeSelector"] == {"disk": "ssd"}


async def test_what_is_required_can_be_narrowed_and_not_left(team: AccountTeam) -> None:
    forms = {"matchExpressions": [{"keys": ["pool"], "operators": ["In"], "values": ["a", "b"]}]}
    zones = {"matchExpressions": [{"keys": ["zone"], "operators": ["In"], "values": []}]}
    nodes = {"nodeAffinities": {REQUIRED: {"nodeSelectorTerms": [forms]}}}
    more = {"nodeAffinities": {REQUIRED: {"nodeSelectorTerms": [zones]}}}
    await team.policy("own", required={"affinities": nodes}, allowed={"affinities": more})
    await team.in_effect()
    affinity = node_terms({"matchExpressions": [requirement("In", "a", "b")]})
    await team.pod("one", queue=None, spec={**GATED, "affinity": affinity})
    path = f"/spec/affinity/nodeAffinity/{REQUIRED}/nodeSelectorTerms/0/matchExpressions/-"
    with pytest.raises(Forbidden, match=r"disk In \[ssd\]"):
        await team.patch("one", [{"op": "add", "path": path, "value": requirement("In", "ssd", key="disk")}])
    await team.patch("one", [{"op": "add", "path": path, "value": requirement("In", "z", key="zone")}])


async def test_a_toleration_added_to_a_running_pod_needs_permission(team: AccountTeam) -> None:
    await team.nodes("any")
    await team.policy("own", allowed={"tolerations": ALLOWS_SPOT})
    await team.in_effect()
    await team.pod("one", queue=None)
    await team.until_bound("one")
    with pytest.raises(Forbidden, match=r"spec.tolerations\[2\] is other"):
        await team.patch("one", tolerate(OTHER))
    assert SPOT in (await team.patch("one", tolerate(SPOT)))["spec"]["tolerations"]


async def test_an_account_that_may_use_nothing_any_more_adds_nothing(team: AccountTeam) -> None:
    await team.policy("own", allowed={"tolerations": ALLOWS_SPOT}, grant=False)
    binding = await team.grant(team.full("own"))
    await team.in_effect()
    await team.pod("one", queue=None, spec=GATED)
    await team.client.delete(binding)

    async def refused() -> bool:
        answer, _ = await plain_http.patch(team.sandbox, f"{team.pods_path}/one?dryRun=All", tolerate(SPOT))
        return "may use none of the SchedulingPolicies" in answer.get("message", "")

    await eventually(refused, message="the update passes")
    await team.patch("one", [{"op": "add", "path": "/metadata/labels", "value": {"app": "a"}}])
    opened = await team.patch("one", [{"op": "remove", "path": "/spec/schedulingGates"}])
    assert not opened["spec"].get("schedulingGates")


async def test_what_was_wrong_before_stands_in_nobodys_way(team: AccountTeam) -> None:
    await team.pod("one", queue=None, spec={**GATED, "nodeSelector": {"disk": "hdd"}, "tolerations": [OTHER]})
    await team.policy("late", allowed={"nodeSelectors": {"zone": []}}, required={"schedulerNames": ["theirs"]})
    await team.in_effect()
    narrowed = await team.patch("one", [{"op": "add", "path": "/spec/nodeSelector/zone", "value": "a"}])
    assert narrowed["spec"]["nodeSelector"] == {"disk": "hdd", "zone": "a"}
    with pytest.raises(Forbidden, match=r"spec.nodeSelector\[arch\]"):
        await team.patch("one", [{"op": "add", "path": "/spec/nodeSelector/arch", "value": "x"}])


async def test_a_dry_run_of_an_update_is_judged_too(team: AccountTeam) -> None:
    await team.policy("own", allowed={})
    await team.in_effect()
    await team.pod("one", queue=None, spec=GATED)
    answer, _ = await plain_http.patch(team.sandbox, f"{team.pods_path}/one?dryRun=All", select(a="b"))
    assert "spec.nodeSelector[a] is 'b'" in answer["message"]


async def test_a_warning_policy_tells_of_an_update_and_lets_it_pass(team: AccountTeam) -> None:
    await team.policy("own", allowed={"nodeSelectors": {}})
    await team.policy("warned", mode="Warn", required={"nodeSelectors": {"disk": ["ssd"]}})
    await team.in_effect()
    await team.pod("one", queue=None, spec={**GATED, "nodeSelector": {"disk": "ssd"}})
    changed, warnings = await plain_http.patch(
        team.sandbox, f"{team.pods_path}/one", [{"op": "add", "path": "/spec/nodeSelector/a", "value": "b"}]
    )
    assert (changed["spec"]["nodeSelector"], warnings) == ({"disk": "ssd", "a": "b"}, [])


async def test_nothing_holds_up_a_pod_that_is_being_deleted(team: AccountTeam) -> None:
    await team.policy("own", allowed={})
    await team.in_effect()
    await team.pod("one", queue=None, spec=GATED)
    await team.patch("one", [{"op": "add", "path": "/metadata/finalizers", "value": ["example.com/mine"]}])
    await team.delete("one")
    await team.patch("one", tolerate(OTHER))
    await team.patch("one", [{"op": "remove", "path": "/metadata/finalizers"}])
    assert not await team.exists(f"{team.pods_path}/one")


async def test_the_controller_may_use_words_that_accounts_may_not(team: AccountTeam) -> None:
    await team.nodes("spot", cpu="8", memory="32Gi")
    tolerations: list[Any] = [SPOT]
    await team.flavor("spot", nodeLabels={"shape": "spot"}, tolerations=tolerations)
    await team.cluster_queue({"spot": {"cpu": 8}}, stopPolicy="Hold")
    await team.local_queue()
    await team.policy("own", allowed={})
    await team.in_effect()
    assert is_gated(await team.pod("one"))
    with pytest.raises(Forbidden, match=r"spec.nodeSelector\[shape\] is 'spot'"):
        await team.patch("one", select(shape="spot"))
    await team.change("clusterqueues", team.full("cq"), {"stopPolicy": "None"})
    bound = (await team.until_bound("one"))["one"]
    assert bound["metadata"]["labels"][FLAVOR] == team.full("spot")
    assert SPOT in bound["spec"]["tolerations"]

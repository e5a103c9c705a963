"""`penstock policy explain` against a real cluster with SchedulingPolicies: its answers are the webhook's."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.accounts import AccountTeam, noted_of
from tests.support.policy_commands import explained
from tests.support.sandbox import CommandLine
from tests.support.team import Json

pytestmark = pytest.mark.integration

SPOT = {"key": "spot", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}
PODS: dict[str, Json] = {
    "plain": {},
    "with what is required": {"nodeSelector": {"arch": "amd64"}},
    "with what is not allowed": {"tolerations": [SPOT]},
    "with what a policy tells of": {"nodeSelector": {"disk": "ssd"}},
    "with another scheduler": {"schedulerName": "mine"},
    "of an account without rights": {"serviceAccountName": "stranger"},
}
REFUSED = ["with what is not allowed", "with another scheduler", "of an account without rights"]


async def test_explain_says_what_the_webhook_then_does(team: AccountTeam, tmp_path: Path) -> None:
    allowed: Json = {"nodeSelectors": {"disk": [], "os": []}}
    own = await team.policy(
        "own", required={"nodeSelectors": {"arch": ["amd64"]}}, allowed=allowed, default={"nodeSelector": {"os": "x"}}
    )
    await team.policy("told", mode="Warn", required={"nodeSelectors": {"pool": ["a", "b"]}})
    await team.account("stranger")
    await team.in_effect()
    containers = [{"name": "main", "image": "none"}]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "tried"}}
    bodies = {name: {**pod, "spec": {"containers": containers, **spec}} for name, spec in PODS.items()}
    where = ("-n", team.namespace, "--kubeconfig", str(team.sandbox.kubeconfig))
    line = CommandLine(tmp_path / "state")
    told_of = await asyncio.to_thread(explained, line, tmp_path / "pods.yaml", bodies, *where)
    for name, spec in PODS.items():
        told = told_of[name]
        done, warnings = await team.tried(**spec)
        if done["kind"] == "Status":
            assert done["message"].endswith(f"denied the request: {told['message']}"), name
            continue
        for field in ("nodeSelector", "schedulerName", "priority"):
            assert told["directives"].get(field) == done["spec"].get(field), (name, field)
        assert len(warnings) == len(told["warnings"]) == 1, name
        assert noted_of(done) == f"SchedulingPolicy/{own}", name
    assert [name for name, told in told_of.items() if told["result"] == "refused"] == REFUSED

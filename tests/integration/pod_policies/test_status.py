"""What policies say of themselves: how many pods carry them, and whether they work as they are written."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from controller.kube.apply import apply
from controller.kube.client import JSON_PATCH
from controller.kube.errors import Invalid
from controller.kube.manifests import load_documents
from controller.sandbox import Sandbox
from controller.sandbox.installation import CONTROLLER_ACCOUNT, NAMESPACE, controller_program
from controller.sandbox.programs import Program
from tests.integration.pod_policies.conftest import WIDE, PolicyTeam
from tests.support.api_objects import node_terms, requirement
from tests.support.eventually import eventually
from tests.support.kubernetes import VERSION
from tests.support.team import OURS

pytestmark = pytest.mark.integration

CONFIG = Path(__file__).resolve().parents[3] / "config"
OWN = "podschedulingpolicies"


async def says(team: PolicyTeam, plural: str, name: str, **expected: Any) -> None:
    """Wait until the policy's status says all this: pods, active (status and reason)."""
    where = f"namespaces/{team.namespace}/{plural}" if plural == OWN else plural

    async def said() -> bool:
        found = orjson.loads(await team.client.get(f"{OURS}/{where}/{name}"))
        condition = next(c for c in found["status"]["conditions"] if c["type"] == "Active")
        assert condition["observedGeneration"] == found["metadata"]["generation"]
        active = f"{condition['status']} {condition['reason']}"
        assert {"pods": found["status"]["pods"], "active": active} == {"pods": 0, "active": "True Ready", **expected}
        return True

    await eventually(said, message=f"{name} does not say {expected}")


async def test_a_policy_counts_the_pods_that_carry_it(team: PolicyTeam) -> None:
    wide = await team.wide("all", nodeSelector={"a": "b"})
    await team.policy("own", podSelector={"matchLabels": {"of": "own"}}, nodeSelector={"c": "d"})
    await team.for_templates("of-template", podSelector={"matchLabels": {"of": "job"}}, nodeSelector={"e": "f"})
    await team.in_effect()
    await says(team, WIDE, wide, pods=0)
    await team.pod("one", queue=None)
    await team.pod("two", queue=None, labels={"of": "own"})
    template = {
        "metadata": {"labels": {"of": "job"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]},
    }
    job = {"metadata": {"name": "job"}, "spec": {"parallelism": 2, "completions": 2, "template": template}}
    await team.client.post(f"/apis/batch/v1/namespaces/{team.namespace}/jobs", job)
    await says(team, WIDE, wide, pods=4)
    await says(team, OWN, "own", pods=1)
    await says(team, OWN, "of-template", pods=2)
    await team.delete("two")
    await says(team, WIDE, wide, pods=3)
    await says(team, OWN, "own", pods=0)


async def test_a_policy_that_cannot_work_as_written_says_why(team: PolicyTeam) -> None:
    nowhere = node_terms({"matchExpressions": [requirement("In", "x", key="a")]})
    await team.policy("torn", nodeSelector={"a": "b"}, affinity=nowhere)
    await team.policy("blind", podSelector=None, nodeSelector={"a": "b"})
    await says(team, OWN, "torn", active="False Contradictory")
    await says(team, OWN, "blind", active="False NothingSelected")


async def test_a_policy_from_before_a_rule_says_that_it_is_faulty(team: PolicyTeam) -> None:
    """Ratcheting keeps what is stored: only the status can tell."""
    definition = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{OWN}.penstock.dev"
    where = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/mode/enum"

    async def legal(*modes: str) -> None:
        rule = [{"op": "replace", "path": where, "value": modes}]
        await team.client.patch(definition, rule, content_type=JSON_PATCH)

    async def made() -> bool:
        try:
            await team.policy("old", mode="Try", nodeSelector={"a": "b"})
        except Invalid:
            return False
        return True

    await legal("Enforce", "Warn", "Audit", "Try")
    try:
        await eventually(made, message="the rule is not gone")
    finally:
        await legal("Enforce", "Warn", "Audit")
    await says(team, OWN, "old", active="False Invalid")


@pytest.fixture(scope="module")
def without_policies() -> Iterator[Sandbox]:
    """A cluster with the CRDs of queues alone."""
    with asyncio.Runner() as runner:
        sandbox = runner.run(Sandbox.launch(kubernetes=VERSION))
        try:
            runner.run(_queues_alone(sandbox))
            yield sandbox
        finally:
            runner.run(sandbox.stop())


async def _queues_alone(sandbox: Sandbox) -> None:
    kinds = [one for one in load_documents(CONFIG / "crd") if "schedulingpolicies" not in one["metadata"]["name"]]
    async with sandbox.client() as client:
        await apply(client, [*kinds, *load_documents(CONFIG / "rbac")])


async def test_a_controller_is_ready_where_there_are_no_policies(without_policies: Sandbox, tmp_path: Path) -> None:
    kubeconfig = await without_policies.service_account_kubeconfig(NAMESPACE, CONTROLLER_ACCOUNT)
    program: Program = controller_program(kubeconfig, tmp_path / "controller.log")
    program.start()
    try:
        await program.wait_ready()
        await eventually(lambda: "are the CRDs of config/crd applied?" in program.tail())
        assert program.exit_code is None
    finally:
        await program.stop()

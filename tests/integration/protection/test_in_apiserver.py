"""The gate kept by admission policies alone: no webhook runs, unless something else needs it."""

from __future__ import annotations

import orjson
import pytest

from controller.core.keys import DEFAULT_QUEUE, GATE, POLICIES, QUEUE_NAME
from controller.kube.client import Client
from controller.sandbox import Sandbox
from controller.sandbox.installation import Gate, installed
from tests.integration.protection.conftest import Protected
from tests.integration.protection.people import Field
from tests.integration.protection.table import Start, Update, Who
from tests.support.eventually import eventually
from tests.support.kubernetes import VERSION
from tests.support.team import Json, Team, is_gated

pytestmark = pytest.mark.integration
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
RUNTIME_CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
REGISTRATIONS = f"{ADMISSION}/mutatingwebhookconfigurations"
BY_POLICIES = pytest.mark.parametrize("protected", ["in-apiserver"], indirect=True)


@BY_POLICIES
async def test_the_default_queue_works_without_a_webhook(protected: Protected, client: Client) -> None:
    assert not protected.programs.webhook.log.exists()
    team = Team(client, protected.sandbox)
    await team.open({DEFAULT_QUEUE: "main"})
    try:
        await team.ready()
        created = await team.pod("one", queue=None)
        assert created["spec"]["schedulingGates"] == [{"name": GATE}]
        assert created["metadata"]["labels"][QUEUE_NAME] == "main"
        await team.until_bound("one")
    finally:
        await team.close()


@BY_POLICIES
@pytest.mark.parametrize("value", ["two\nlines", "x" * 6000])
async def test_a_refusal_says_its_rule_whatever_the_value_is(field: Field, value: str) -> None:
    reply = await field.send(Who.EDITOR, Update(Start.QUEUED, {"metadata": {"annotations": {POLICIES: value}}}))

    assert reply.code == 403
    assert "denied request: keys-are-ours: the queue of a pod cannot be changed" in reply.body["message"]


@BY_POLICIES
async def test_a_pod_queued_by_a_later_policy_is_gated_too(team: Team, client: Client) -> None:
    # in the order of their names it comes after ours
    name = f"zz-{team.id}"
    change = f"JSONPatch{{op: 'add', path: '/metadata/labels', value: {{'{QUEUE_NAME}': 'main'}}}}"
    expression = f"has(object.metadata.labels) ? [] : [{change}]"
    here = {"matchLabels": {"kubernetes.io/metadata.name": team.namespace}}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    policy = {
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "matchConstraints": {"namespaceSelector": here, "resourceRules": [rule]},
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}],
        },
    }
    await client.post(f"{ADMISSION}/mutatingadmissionpolicies", policy)
    binding = {"metadata": {"name": name}, "spec": {"policyName": name}}
    await client.post(f"{ADMISSION}/mutatingadmissionpolicybindings", binding)

    async def labelled_pod() -> Json:
        created = await team.pod("probe", queue=None, params={"dryRun": "All"})
        return created if (created["metadata"].get("labels") or {}).get(QUEUE_NAME) else {}

    try:
        created = await eventually(labelled_pod, message="the policy that gives the queue is not heeded")
    finally:
        await client.delete(f"{ADMISSION}/mutatingadmissionpolicybindings/{name}")
        await client.delete(f"{ADMISSION}/mutatingadmissionpolicies/{name}")
    assert created["spec"]["schedulingGates"] == [{"name": GATE}]


async def test_a_component_starts_the_webhook_not_for_the_gate() -> None:
    """It is shown pods of queues, too, and gives them what it gives others."""
    options = {"components": ("runtime-class",), "webhook_arguments": ("--default-runtime-class", "standard")}
    async with Sandbox.start(kubernetes=VERSION) as sandbox, sandbox.client() as client:
        await client.post(RUNTIME_CLASSES, {"metadata": {"name": "standard"}, "handler": "runc"})
        async with installed(sandbox, gate=Gate.POLICIES, **options) as programs:
            assert programs.webhook.process.poll() is None
            found = orjson.loads(await client.get(REGISTRATIONS))["items"]
            assert [one["metadata"]["name"] for one in found] == ["penstock-runtime-class"]
            team = Team(client, sandbox)
            await team.open()
            created = await team.pod("probe", queue="main", params={"dryRun": "All"})
            assert (created["spec"]["runtimeClassName"], is_gated(created)) == ("standard", True)

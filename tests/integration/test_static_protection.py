"""`deploy/apiserver/protection.yaml`, loaded by an apiserver from a file: what keeps the gate stays as it is."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.core.keys import BREAK_GLASS
from controller.kube.apply import apply
from controller.kube.client import MERGE_PATCH
from controller.kube.manifests import load_documents
from controller.sandbox import Sandbox
from tests.support.impersonation import Identity, Impersonation, Reply, impersonation
from tests.support.shown_objects import shown

ROOT = Path(__file__).resolve().parents[2]
GROUP = "/apis/admissionregistration.k8s.io/v1"
POLICY = f"{GROUP}/validatingadmissionpolicies/penstock-fence"
REGISTRATION = f"{GROUP}/mutatingwebhookconfigurations/penstock"
PROTECTED = [POLICY, POLICY.replace("policies", "policybindings"), REGISTRATION]
ADMIN = Identity("admin", ("system:masters", "system:authenticated"))
BREAKING_GLASS = Identity("admin", (*ADMIN.groups, BREAK_GLASS))
WEBHOOK = Identity("system:serviceaccount:penstock-system:penstock-webhook", ADMIN.groups)

pytestmark = pytest.mark.integration

Json = dict[str, Any]


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """An apiserver that has loaded the file."""
    folder = tmp_path_factory.mktemp("admission")
    manifests, settings = folder / "policies", folder / "admission.yaml"
    manifests.mkdir()
    shutil.copy(ROOT / "deploy" / "apiserver" / "protection.yaml", manifests)
    written = shown("protection.md", "AdmissionConfiguration")
    (plugin,) = written["plugins"]
    plugin["configuration"]["staticManifestsDir"] = str(manifests)
    settings.write_text(yaml.safe_dump(written))
    flags = {"admission-control-config-file": str(settings)}
    started = asyncio.run(Sandbox.launch(apiserver_flags=flags))
    yield started
    asyncio.run(started.stop())


@pytest.fixture
async def api(sandbox: Sandbox) -> AsyncIterator[Impersonation]:
    """This apiserver, with a policy, its binding and a registration of Penstock."""
    async with sandbox.client() as client, impersonation(sandbox) as api:
        for file in ("guards/leader.yaml", "webhook/mutating.yaml"):
            await apply(client, load_documents(ROOT / "config" / file))
        yield api
        for path in PROTECTED:
            await api.send(BREAKING_GLASS, "DELETE", path, {})


async def patch(api: Impersonation, who: Identity, path: str, body: Json) -> Reply:
    return await api.send(who, "PATCH", path, body, content_type=MERGE_PATCH)


async def test_who_is_no_member_of_the_group_is_refused(api: Impersonation) -> None:
    for path in PROTECTED:
        reply = await api.send(ADMIN, "DELETE", path, {})
        assert reply.code == 403, reply.body
        assert "protection-stays: " in reply.body["message"]
        assert path.rsplit("/", 1)[1] in reply.body["message"]
        no_label = {"metadata": {"labels": {"app.kubernetes.io/part-of": None}}}
        assert (await patch(api, ADMIN, path, no_label)).code == 403
        assert (await patch(api, ADMIN, path, {"metadata": {"annotations": {"a": "b"}}})).code == 200
    assert (await api.send(ADMIN, "DELETE", f"{GROUP}/mutatingwebhookconfigurations", {})).code == 403
    assert (await patch(api, ADMIN, POLICY, {"spec": {"failurePolicy": "Ignore"}})).code == 403
    webhooks = (await api.send(ADMIN, "GET", REGISTRATION, {})).body["webhooks"]
    weaker = [{**one, "timeoutSeconds": 1} for one in webhooks]
    for who in (ADMIN, WEBHOOK):
        assert (await patch(api, who, REGISTRATION, {"webhooks": weaker})).code == 403
        assert (await patch(api, who, REGISTRATION, {"webhooks": webhooks[1:]})).code == 403


async def test_the_webhook_replaces_its_authority_alone(api: Impersonation) -> None:
    webhooks = (await api.send(ADMIN, "GET", REGISTRATION, {})).body["webhooks"]
    trusting = [{**one, "clientConfig": {**one["clientConfig"], "caBundle": "bmV3"}} for one in webhooks]
    assert (await patch(api, ADMIN, REGISTRATION, {"webhooks": trusting})).code == 403
    assert (await patch(api, WEBHOOK, REGISTRATION, {"webhooks": trusting})).code == 200


async def test_the_group_changes_and_deletes(api: Impersonation) -> None:
    assert (await patch(api, BREAKING_GLASS, POLICY, {"spec": {"failurePolicy": "Ignore"}})).code == 200
    for path in PROTECTED:
        assert (await api.send(BREAKING_GLASS, "DELETE", path, {})).code == 200


async def test_what_is_not_of_penstock_is_free(api: Impersonation) -> None:
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "other"},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
                ]
            },
            "validations": [{"expression": "true"}],
        },
    }
    assert (await api.send(ADMIN, "POST", f"{GROUP}/validatingadmissionpolicies", policy)).code == 201
    assert (await api.send(ADMIN, "DELETE", f"{GROUP}/validatingadmissionpolicies/other", {})).code == 200

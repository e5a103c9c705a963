"""Others who change pods at CREATE, before and after us."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web

from controller.kube.errors import Forbidden
from controller.sandbox import Sandbox
from controller.telemetry.http import Address, serving
from controller.telemetry.tls import Certificate
from tests.integration.runtime_classes.conftest import Corner
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration

Json = dict[str, Any]
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
RULES = {
    "scheduling": {"nodeSelector": {"runtime": "kata"}, "tolerations": [{"key": "sandboxed", "operator": "Exists"}]},
    "overhead": {"podFixed": {"cpu": "250m"}},
}
CREATED_PODS = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}


@asynccontextmanager
async def removed_later(corner: Corner, plural: str, body: Json) -> AsyncIterator[None]:
    await corner.client.post(f"{ADMISSION}/{plural}", body)
    try:
        yield
    finally:
        await corner.client.delete(f"{ADMISSION}/{plural}/{body['metadata']['name']}")


@asynccontextmanager
async def policy(corner: Corner, key: str, value: str) -> AsyncIterator[None]:
    """A MutatingAdmissionPolicy that gives the namespace's pods one pair of nodeSelector."""
    name = corner.full("adds")
    where = {"matchLabels": {"kubernetes.io/metadata.name": corner.namespace}}
    # a nodeSelector is atomic: an ApplyConfiguration may not touch it
    expression = (
        "has(object.spec.nodeSelector)"
        f' ? [JSONPatch{{op: "add", path: "/spec/nodeSelector/{key}", value: "{value}"}}]'
        f' : [JSONPatch{{op: "add", path: "/spec/nodeSelector", value: {{"{key}": "{value}"}}}}]'
    )
    spec = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "IfNeeded",
        "matchConstraints": {"namespaceSelector": where, "resourceRules": [CREATED_PODS]},
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}],
    }
    binding = {"metadata": {"name": name}, "spec": {"policyName": name}}
    async with (
        removed_later(corner, "mutatingadmissionpolicies", {"metadata": {"name": name}, "spec": spec}),
        removed_later(corner, "mutatingadmissionpolicybindings", binding),
    ):

        async def in_force() -> bool:
            try:
                probe = await corner.pod("probe", queue=None, params={"dryRun": "All"})
            except Forbidden as error:
                return value in error.message
            return bool(probe["spec"].get("nodeSelector", {}).get(key) == value)

        await eventually(in_force, seconds=30, message="the policy is not in force")
        yield


async def test_a_selector_by_policy_and_a_default_class_go_together(corner: Corner) -> None:
    name = await corner.runtime_class("kata", **RULES)
    await corner.default_class(name)
    async with policy(corner, "zone", "a"):
        created = (await corner.pod("one", queue=None))["spec"]
    assert created["nodeSelector"] == {"zone": "a", "runtime": "kata"}
    assert (created["runtimeClassName"], created["overhead"]) == (name, {"cpu": "250m"})


async def test_a_policy_against_the_default_class_refuses_the_pod(corner: Corner) -> None:
    await corner.default_class(await corner.runtime_class("kata", **RULES))
    async with policy(corner, "runtime", "runc"):
        with pytest.raises(Forbidden, match=r"spec.nodeSelector\[runtime\] is 'runc', but the default RuntimeClass"):
            await corner.pod("one", queue=None)


class AnotherWebhook:
    """A mutating webhook that comes after ours: gives pods one pair of nodeSelector where there is none of the key."""

    def __init__(self, key: str, value: str, *, overrules: bool = False) -> None:
        self.key, self.value, self.overrules = key, value, overrules
        self.seen: list[str | None] = []

    async def handle(self, request: web.Request) -> web.Response:
        review = orjson.loads(await request.read())["request"]
        spec = review["object"]["spec"]
        self.seen.append(spec.get("runtimeClassName"))
        answer: Json = {"uid": review["uid"], "allowed": True}
        if self.overrules or self.key not in spec.get("nodeSelector", {}):
            path, value = f"/spec/nodeSelector/{self.key}", self.value
            patch = [{"op": "add", "path": path, "value": value}]
            answer |= {"patchType": "JSONPatch", "patch": base64.b64encode(orjson.dumps(patch)).decode()}
        return web.json_response({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer})

    @asynccontextmanager
    async def serving(self, corner: Corner, sandbox: Sandbox, folder: Path) -> AsyncIterator[None]:
        app = web.Application()
        app.router.add_post("/", self.handle)
        pair = sandbox.serving_certificate()
        (folder / "tls.crt").write_bytes(pair.certificate_pem)
        (folder / "tls.key").write_bytes(pair.key_pem)
        certificate = Certificate(folder / "tls.crt", folder / "tls.key")
        async with serving(app, Address.parse("127.0.0.1:0"), tls=certificate) as address:
            entry = {
                "name": "another.example.com",
                "clientConfig": {
                    "url": f"https://127.0.0.1:{address.port}/",
                    "caBundle": base64.b64encode(sandbox.ca_pem).decode(),
                },
                "rules": [CREATED_PODS],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": corner.namespace}},
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "failurePolicy": "Fail",
            }
            body = {"metadata": {"name": f"zz-{corner.id}"}, "webhooks": [entry]}
            async with removed_later(corner, "mutatingwebhookconfigurations", body):

                async def called() -> bool:
                    try:
                        await corner.pod("probe", queue=None, params={"dryRun": "All"})
                    except Forbidden:
                        return True
                    return bool(self.seen)

                await eventually(called, seconds=30, message="the other webhook is not called")
                yield


async def test_our_own_work_stays_as_it_is_when_we_are_called_again(
    corner: Corner, classy: Sandbox, tmp_path: Path
) -> None:
    name = await corner.runtime_class("kata", **RULES)
    await corner.default_class(name)
    other = AnotherWebhook("zone", "a")
    async with other.serving(corner, classy, tmp_path):
        created = (await corner.pod("one", queue=None))["spec"]
    assert set(other.seen) == {name}, "it must come after us"
    assert created["nodeSelector"] == {"runtime": "kata", "zone": "a"}
    assert created["overhead"] == {"cpu": "250m"}
    assert [t["key"] for t in created["tolerations"]].count("sandboxed") == 1


async def test_a_pod_with_its_default_class_overruled_is_refused(
    corner: Corner, classy: Sandbox, tmp_path: Path
) -> None:
    await corner.default_class(await corner.runtime_class("kata", **RULES))
    other = AnotherWebhook("runtime", "runc", overrules=True)
    async with other.serving(corner, classy, tmp_path):
        with pytest.raises(Forbidden, match=r"nodeSelector\[runtime\] = runc"):
            await corner.pod("one", queue=None)

"""Another's mutating webhook, which comes after ours."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import orjson
from aiohttp import web

from controller.telemetry import http
from controller.telemetry.tls import Certificate
from tests.support.team import TEAM_LABEL, Json, Team

HOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
PODS: Json = {"apiGroups": [""], "resources": ["pods"]}


@asynccontextmanager
async def another_webhook(
    team: Team, operations: list[Json], folder: Path, *, rule: Json = PODS
) -> AsyncIterator[None]:
    """Comes after ours by name and patches what the team creates with the label asks=twice; ours are called again."""
    pair = team.sandbox.serving_certificate()
    (folder / "tls.crt").write_bytes(pair.certificate_pem)
    (folder / "tls.key").write_bytes(pair.key_pem)
    encoded = base64.b64encode(orjson.dumps(operations)).decode()

    async def answer(request: web.Request) -> web.Response:
        uid = (await request.json())["request"]["uid"]
        response = {"uid": uid, "allowed": True, "patchType": "JSONPatch", "patch": encoded}
        return web.json_response({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})

    app = web.Application()
    app.router.add_post("/", answer)
    certificate = Certificate(folder / "tls.crt", folder / "tls.key")
    async with http.serving(app, http.Address("127.0.0.1", 0), tls=certificate) as address:
        hook = {
            "name": "late.example.com",
            "clientConfig": {
                "url": f"https://127.0.0.1:{address.port}/",
                "caBundle": base64.b64encode(team.sandbox.ca_pem).decode(),
            },
            "rules": [{"apiVersions": ["v1"], "operations": ["CREATE"], **rule}],
            "namespaceSelector": {"matchLabels": {TEAM_LABEL: team.id}},
            "objectSelector": {"matchLabels": {"asks": "twice"}},
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Fail",
        }
        name = f"zz-{team.id}"
        await team.client.post(HOOKS, {"metadata": {"name": name}, "webhooks": [hook]})
        try:
            yield
        finally:
            await team.client.delete(f"{HOOKS}/{name}")

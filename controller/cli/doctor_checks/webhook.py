"""Whether the apiserver can ask the webhook, trusts it, and does what Penstock means it to where it does not answer."""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

from cryptography import x509

from controller.cli.doctor_checks.cluster import ADMISSION, Cluster, Json
from controller.cli.doctor_checks.findings import Check, Finding, Need, error, warning
from controller.cli.doctor_checks.gate import REGISTRATIONS
from controller.kube import clock
from controller.kube.manifests import load_documents
from controller.runtime.own_objects import OURS
from controller.sandbox import features
from controller.sandbox.shipped import manifests

_OURS: Final = {"labelSelector": OURS}
_DAY: Final = 86_400.0
_SOON_DAYS: Final = 14
_RENEW: Final = "let cert-manager renew it, or write a new one as docs/install.md says"
_UNWRITTEN: Final = (
    "see in the log of the webhook, or of cert-manager's cainjector, why it does not write it, or set it as "
    "docs/install.md says"
)
_WEBHOOK: Final = "penstock-webhook"

_Where = tuple[str, str, str]
"""(plural name of the kind of registration, its name, the name of the webhook in it)."""


async def _run(cluster: Cluster) -> AsyncIterator[Finding]:
    entries = {where: entry async for where, entry in _entries(cluster)}
    shipped = await asyncio.to_thread(_shipped_policies)
    for where, entry in entries.items():
        meant = shipped.get(where)
        if meant and entry.get("failurePolicy") != meant:
            yield _failure_policy(where, str(entry.get("failurePolicy")), meant)
    # most have the same ones: each is judged once, where it stands first
    bundles = {entry["clientConfig"].get("caBundle") or "": where for where, entry in reversed(entries.items())}
    for bundle, where in bundles.items():
        for finding in _authority(where, bundle):
            yield finding
    asked = [service for entry in entries.values() if (service := entry["clientConfig"].get("service"))]
    services = {(one["namespace"], one["name"]) for one in asked}
    for namespace, name in sorted(services):
        if not await _answers(cluster, namespace, name):
            what = "has no ready endpoint: the apiserver cannot ask the webhook"
            yield error(f"Service {namespace}/{name}", what, f"look at the pods of {_WEBHOOK} in namespace {namespace}")
    if services:
        async for finding in _serving_certificate(cluster):
            yield finding


async def _entries(cluster: Cluster) -> AsyncIterator[tuple[_Where, Json]]:
    for plural in REGISTRATIONS:
        async for registration in cluster.items(f"{ADMISSION}/{plural}", _OURS):
            for entry in registration.get("webhooks") or ():
                yield (plural, registration["metadata"]["name"], entry["name"]), entry


def _shipped_policies() -> dict[_Where, str]:
    folders = [manifests("webhook"), *(manifests(f"components/{name}") for name in features.names())]
    documents = [one for folder in folders for one in load_documents(folder) if one.get("webhooks")]
    return {
        (f"{str(one['kind']).lower()}s", one["metadata"]["name"], entry["name"]): entry["failurePolicy"]
        for one in documents
        for entry in one["webhooks"]
    }


def _text(where: _Where) -> str:
    plural, registration, webhook = where
    return f"{plural.removesuffix('s')} {registration}, webhook {webhook}"


def _failure_policy(where: _Where, found: str, meant: str) -> Finding:
    effect = "pods pass unchecked" if found == "Ignore" else "nothing of the kind can be created"
    what = f"has failurePolicy {found}, and Penstock ships {meant}: while the webhook does not answer, {effect}"
    return warning(_text(where), what, "apply config/webhook again, unless this is meant")


def _authority(where: _Where, bundle: str) -> Iterator[Finding]:
    if not bundle:
        what = "has no caBundle: the apiserver trusts no certificate of the webhook"
        yield error(_text(where), what, _UNWRITTEN)
        return
    yield from _expiry(f"{_text(where)}: caBundle", _decoded(bundle))


def _expiry(where: str, pem: bytes) -> Iterator[Finding]:
    """Judge certificates by the one that ends last: a bundle keeps old ones while new ones take their place."""
    try:
        until = max(one.not_valid_after_utc.timestamp() for one in x509.load_pem_x509_certificates(pem))
    except ValueError:
        yield error(where, "holds no certificate in PEM", _RENEW)
        return
    left = until - clock.now()
    if left <= 0:
        yield error(where, f"expired at {clock.rfc3339(until)}: the apiserver does not reach the webhook", _RENEW)
    elif left < _SOON_DAYS * _DAY:
        yield warning(where, f"expires at {clock.rfc3339(until)}, in less than {_SOON_DAYS} days", _RENEW)


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except binascii.Error:
        return b""


async def _answers(cluster: Cluster, namespace: str, name: str) -> bool:
    path = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
    slices = cluster.items(path, {"labelSelector": f"kubernetes.io/service-name={name}"})
    ready = [_ready(endpoint) async for one in slices for endpoint in one.get("endpoints") or ()]
    return any(ready)


def _ready(endpoint: Json) -> bool:
    conditions: dict[str, Any] = endpoint.get("conditions") or {}
    return conditions.get("ready") is not False  # absent: it is


async def _serving_certificate(cluster: Cluster) -> AsyncIterator[Finding]:
    """Look into the Secret that the webhook's pods mount."""
    deployment = await cluster.get(f"/apis/apps/v1/namespaces/{cluster.home}/deployments/{_WEBHOOK}")
    volumes = [] if deployment is None else deployment["spec"]["template"]["spec"].get("volumes") or []
    for name in [one["secret"]["secretName"] for one in volumes if one["name"] == "tls" and _is_mounted(one)]:
        where = f"Secret {cluster.home}/{name}"
        right = Need("get", "secrets", namespace=cluster.home)
        if not await cluster.i_may(right.attributes):
            yield warning(where, f"was not checked: you may not {right.text}", "look yourself when it expires")
            continue
        secret = await cluster.get(f"/api/v1/namespaces/{cluster.home}/secrets/{name}")
        if secret is None:
            yield error(where, "does not exist: the webhook has no certificate", _RENEW)
            continue
        for finding in _expiry(f"{where}: tls.crt", _decoded((secret.get("data") or {}).get("tls.crt", ""))):
            yield finding


def _is_mounted(volume: Json) -> bool:
    """Whether the webhook needs this Secret: without it, it makes its certificate itself."""
    secret = volume.get("secret") or {}
    return bool(secret) and not secret.get("optional")


def _needs(cluster: Cluster) -> tuple[Need, ...]:
    return (
        *(Need("list", one, "admissionregistration.k8s.io") for one in REGISTRATIONS),
        Need("list", "endpointslices", "discovery.k8s.io", cluster.home),
        Need("get", "deployments", "apps", cluster.home),
    )


WEBHOOK = Check("webhook", _run, _needs)

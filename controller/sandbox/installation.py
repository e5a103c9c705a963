"""Penstock installed into a sandbox: CRDs, RBAC, webhook registration, and the two programs as real processes.

They act as the ServiceAccounts of `config/rbac`, never as an administrator. For the demo, the tests, and users who
try their queues and policies; a real cluster is installed otherwise.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller.kube.apply import apply, delete
from controller.kube.errors import KubeError
from controller.kube.manifests import load_documents
from controller.sandbox.errors import SandboxError
from controller.sandbox.files import write_private
from controller.sandbox.programs import Program
from controller.sandbox.session import Sandbox
from controller.sandbox.shipped import manifests

NAMESPACE = "penstock-system"
CONTROLLER_ACCOUNT = "penstock-controller"
"""ServiceAccount of the controller in NAMESPACE, as `config/rbac` has it."""

_ANY_PORT = "127.0.0.1:0"
_REGISTRATIONS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


@dataclass(frozen=True, slots=True)
class Installation:
    """The two programs as they run."""

    controller: Program
    webhook: Program


@asynccontextmanager
async def installed(
    sandbox: Sandbox, components: Sequence[str] = (), webhook_arguments: Sequence[str] = ()
) -> AsyncIterator[Installation]:
    """Install Penstock into the sandbox and run it for as long as the block runs.

    `components` are folders of `config/components`, applied besides; `webhook_arguments` are what they need.

    Raises SandboxError when a program does not come up, ApplyError when a manifest is refused.
    """
    async with sandbox.client() as client:
        parts = ("crd", "rbac", *_folders(components))
        documents = [document for part in parts for document in load_documents(manifests(part))]
        await apply(client, [document for document in documents if document["kind"] not in _REGISTRATIONS])
    webhook = await _webhook(sandbox, webhook_arguments)
    controller = await _controller(sandbox)
    try:
        webhook.start()
        controller.start()
        await webhook.wait_ready()
        await _register(sandbox, webhook, components)
        await controller.wait_ready()
        yield Installation(controller, webhook)
    finally:
        await asyncio.shield(_stop(sandbox, controller, webhook, components))


def controller_program(kubeconfig: Path, log: Path) -> Program:
    """The controller, not yet started, for the cluster and the account of `kubeconfig`."""
    # always the same identity: one that was killed takes its Lease up again at once
    arguments = ["--kubeconfig", str(kubeconfig), "--http-address", _ANY_PORT, "--identity", "sandbox"]
    return Program("controller", arguments, log)


async def _stop(sandbox: Sandbox, controller: Program, webhook: Program, components: Sequence[str]) -> None:
    """Stop in the order in which nothing is left behind: nobody asks a webhook that is gone."""
    with suppress(KubeError, OSError):  # the sandbox may be down already: then nobody asks the webhook any more
        async with sandbox.client() as client:
            await delete(client, _registration(components))
    for program in (controller, webhook):
        await program.stop()


async def _controller(sandbox: Sandbox) -> Program:
    kubeconfig = await sandbox.service_account_kubeconfig(NAMESPACE, CONTROLLER_ACCOUNT)
    return controller_program(kubeconfig, sandbox.folder / "penstock-controller.log")


async def _webhook(sandbox: Sandbox, more_arguments: Sequence[str]) -> Program:
    kubeconfig = await sandbox.service_account_kubeconfig(NAMESPACE, "penstock-webhook")
    pair = sandbox.serving_certificate()
    certificate = write_private(sandbox.folder / "webhook.crt", pair.certificate_pem)
    key = write_private(sandbox.folder / "webhook.key", pair.key_pem)
    arguments = ["--kubeconfig", str(kubeconfig), "--http-address", _ANY_PORT, "--address", _ANY_PORT]
    arguments += ["--tls-cert", str(certificate), "--tls-key", str(key)]
    return Program("webhook", [*arguments, *more_arguments], sandbox.folder / "penstock-webhook.log")


async def _register(sandbox: Sandbox, webhook: Program, components: Sequence[str]) -> None:
    port = webhook.port("reviews")
    if port is None:
        raise SandboxError(f"the webhook is ready but has not said where it answers:\n{webhook.tail()}")
    documents = [_by_url(document, port, sandbox.ca_pem) for document in _registration(components)]
    async with sandbox.client() as client:
        await apply(client, documents)


def _registration(components: Sequence[str]) -> list[dict[str, Any]]:
    """What registers the webhook, without the Service that a sandbox has no use for."""
    parts = ("webhook", *_folders(components))
    documents = [document for part in parts for document in load_documents(manifests(part))]
    return [document for document in documents if document["kind"] in _REGISTRATIONS]


def _folders(components: Sequence[str]) -> list[str]:
    return [f"components/{name}" for name in components]


def _by_url(document: dict[str, Any], port: int, ca_pem: bytes) -> dict[str, Any]:
    """Let the apiserver reach the webhook on loopback: in the sandbox no Service leads anywhere."""
    for entry in document.get("webhooks", ()):
        path = entry["clientConfig"]["service"]["path"]
        entry["clientConfig"] = {
            "url": f"https://127.0.0.1:{port}{path}",
            "caBundle": base64.b64encode(ca_pem).decode(),
        }
    return document

"""Penstock installed into a sandbox: CRDs, RBAC, what gates pods, and the two programs as real processes.

They act as the ServiceAccounts of `config/rbac`, never as an administrator. For the demo, the tests, and users who
try their queues and policies; a real cluster is installed otherwise.
"""

from __future__ import annotations

import asyncio
import base64
import fcntl
import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from controller.kube.apply import apply, delete
from controller.kube.errors import KubeError
from controller.kube.manifests import load_documents
from controller.sandbox import aggregation, features
from controller.sandbox.admission_policies import into_effect
from controller.sandbox.errors import SandboxError
from controller.sandbox.files import PRIVATE_FILE, write_private
from controller.sandbox.programs import Program
from controller.sandbox.session import Sandbox
from controller.sandbox.shipped import manifests

NAMESPACE = "penstock-system"
CONTROLLER_ACCOUNT = "penstock-controller"
"""ServiceAccount of the controller in NAMESPACE, as `config/rbac` has it."""

_ANY_PORT = "127.0.0.1:0"
_LEASE = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"namespace": NAMESPACE, "name": "penstock-controller"},
}
_LEASE_SECONDS = "30"
"""Nobody stands by to take over in a sandbox, but its machine may be held up for long, by other work or in sleep."""
POLL_SECONDS = 0.1


class Gate(Enum):
    """What adds the gate and protects it: the webhook (`config/webhook`), or the apiserver itself (`config/policy`)."""

    WEBHOOK = "Webhook"
    POLICIES = "Policies"


@dataclass(frozen=True, slots=True)
class _Manifests:
    """What an installation brings, and what one with other options would have brought besides."""

    basis: list[dict[str, Any]]
    """CRDs and rights, which stay in the sandbox."""
    registration: list[dict[str, Any]]
    policies: list[dict[str, Any]]
    guards: list[dict[str, Any]]
    """Admission policies that stay in the sandbox as well: the fence, what the account may do, and who may set weights.

    After the last policy that reads Leases has gone, an apiserver does not read them again before it restarts
    (kubernetes/kubernetes#130887): the fence of the next run would know this one's leader, and refuse all releases.
    Without Penstock they refuse nobody a pod: those about pods are about the ServiceAccount of the controller alone.
    """
    warnings: list[dict[str, Any]]
    aggregated: list[dict[str, Any]]
    """What leads the apiserver to the API of the controller."""
    remains: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Installation:
    """The two programs as they run; a webhook that nothing is registered for was not started."""

    controller: Program
    webhook: Program

    def check(self) -> None:
        """Raise SandboxError, with the end of its log and where that is, when one of the programs has ended."""
        for program in (self.controller, self.webhook):
            if program.exit_code is not None:
                told = f"{program.name} ended with {program.exit_code}"
                if not program.log.exists():
                    raise SandboxError(f"{told}: its sandbox was ended from elsewhere")
                raise SandboxError(f"{told}; the end of its log {program.log}:\n{program.tail()}")

    async def ended(self) -> None:
        """Wait until one of the programs has ended, which none does unless it is told to."""
        while self.controller.exit_code is None and self.webhook.exit_code is None:  # noqa: ASYNC110 - other processes
            await asyncio.sleep(POLL_SECONDS)


@asynccontextmanager
async def installed(
    sandbox: Sandbox,
    *,
    gate: Gate = Gate.WEBHOOK,
    components: Sequence[str] = (),
    webhook_arguments: Sequence[str] = (),
    controller_arguments: Sequence[str] = (),
) -> AsyncIterator[Installation]:
    """Install Penstock into the sandbox and run it for as long as the block runs.

    `components` are folders of `config/components`; what they need of the webhook goes into `webhook_arguments`. What
    else the controller is told is in `controller_arguments`.
    Raises SandboxError when Penstock runs there already or a program does not come up, ApplyError when a manifest is
    refused.
    """
    lock = await asyncio.to_thread(_lock, sandbox)
    try:
        async with _installed(sandbox, gate, components, webhook_arguments, controller_arguments) as programs:
            yield programs
    finally:
        os.close(lock)


def _lock(sandbox: Sandbox) -> int:
    """Refuse a second one: both would be one to the Lease, and the first to end would take the gate away from both.

    What is returned holds the sandbox until it is closed; the file stays, since somebody may have opened it.
    """
    path = sandbox.folder / "penstock.lock"
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        holder = path.read_text() or "unknown"  # it may have the lock and not have written yet
        raise SandboxError(
            f"Penstock runs in sandbox {sandbox.name!r} already (process {holder}); "
            f"use that one by `export KUBECONFIG={sandbox.kubeconfig}`, end it first, or choose another sandbox"
        ) from None
    os.truncate(handle, 0)
    os.write(handle, str(os.getpid()).encode())
    return handle


@asynccontextmanager
async def _installed(
    sandbox: Sandbox,
    gate: Gate,
    components: Sequence[str],
    webhook_arguments: Sequence[str],
    controller_arguments: Sequence[str],
) -> AsyncIterator[Installation]:
    ours = await asyncio.to_thread(_read, gate, components)
    async with sandbox.client() as client:
        # A run that was killed may have left what this one does not ask for: nobody would answer, or two keep the gate.
        await delete(client, ours.remains)
        await apply(client, [*ours.basis, *ours.guards, *ours.warnings])
        # no controller runs here now, so nobody need wait for the Lease of one that was killed to end
        await delete(client, [_LEASE])
    webhook = await _webhook(sandbox, webhook_arguments)
    visible = ["--visibility-address", _ANY_PORT] if ours.aggregated else []
    controller = await _controller(sandbox, [*visible, *controller_arguments])
    try:
        if ours.registration:
            webhook.start()
        controller.start()
        if ours.registration:
            await webhook.wait_ready()
            await _register(sandbox, webhook, ours.registration)
        if ours.policies:
            async with sandbox.client() as client:
                await into_effect(client, ours.policies)
        await controller.wait_ready()
        if ours.aggregated:
            await aggregate(sandbox, controller, ours.aggregated)
        yield Installation(controller, webhook)
    finally:
        # first what nobody answers any more: while it is registered, no namespace can be deleted
        admission = [*ours.registration, *ours.policies, *ours.warnings, *ours.aggregated]
        await asyncio.shield(_stop(sandbox, controller, webhook, admission))


def controller_program(kubeconfig: Path, log: Path, further: Sequence[str] = ()) -> Program:
    """The controller, not yet started, for the cluster and the account of `kubeconfig`; with further arguments."""
    arguments = ["--kubeconfig", str(kubeconfig), "--http-address", _ANY_PORT, "--identity", "sandbox"]
    return Program("controller", [*arguments, *further], log)


async def aggregate(sandbox: Sandbox, controller: Program, documents: Sequence[Mapping[str, Any]]) -> None:
    """Let the apiserver pass requests on to the controller, and wait until it does. Raises SandboxError."""
    port = controller.port("visibility")
    if port is None:
        raise SandboxError(f"the controller is ready but has not said where its API answers:\n{controller.tail()}")
    async with sandbox.client() as client:
        await apply(client, [aggregation.on_loopback(document, port) for document in documents])
        await aggregation.until_available(client, documents)


async def _stop(sandbox: Sandbox, controller: Program, webhook: Program, admission: list[dict[str, Any]]) -> None:
    """Stop in the order in which nothing is left behind: nobody asks a webhook that is gone."""
    with suppress(KubeError, OSError):  # the sandbox may be down already: then nobody asks the webhook any more
        async with sandbox.client() as client:
            await delete(client, admission)
    for program in (controller, webhook):
        await program.stop()


async def _controller(sandbox: Sandbox, further: Sequence[str]) -> Program:
    kubeconfig = await sandbox.service_account_kubeconfig(NAMESPACE, CONTROLLER_ACCOUNT)
    log = sandbox.folder / "penstock-controller.log"
    return controller_program(kubeconfig, log, ["--lease-seconds", _LEASE_SECONDS, *further])


async def _webhook(sandbox: Sandbox, further: Sequence[str]) -> Program:
    kubeconfig = await sandbox.service_account_kubeconfig(NAMESPACE, "penstock-webhook")
    pair = sandbox.serving_certificate()
    certificate = write_private(sandbox.folder / "webhook.crt", pair.certificate_pem)
    key = write_private(sandbox.folder / "webhook.key", pair.key_pem)
    arguments = ["--kubeconfig", str(kubeconfig), "--http-address", _ANY_PORT, "--address", _ANY_PORT]
    arguments += ["--tls-cert", str(certificate), "--tls-key", str(key)]
    return Program("webhook", [*arguments, *further], sandbox.folder / "penstock-webhook.log")


async def _register(sandbox: Sandbox, webhook: Program, registration: list[dict[str, Any]]) -> None:
    port = webhook.port("reviews")
    if port is None:
        raise SandboxError(f"the webhook is ready but has not said where it answers:\n{webhook.tail()}")
    documents = [_by_url(document, port, sandbox.ca_pem) for document in registration]
    async with sandbox.client() as client:
        await apply(client, documents)


def _read(gate: Gate, components: Sequence[str]) -> _Manifests:
    folders = [manifests(f"components/{name}") for name in components]
    brought = [document for folder in folders for document in load_documents(folder) if not _registers(document)]
    rights = [document for document in brought if not aggregation.is_aggregated(document)]
    aggregated = [document for document in brought if aggregation.is_aggregated(document)]
    basis = [*load_documents(manifests("crd")), *load_documents(manifests("rbac")), *rights]
    keeping = load_documents(manifests("policy"))
    policies = keeping if gate is Gate.POLICIES else []
    registration = _registration(folders if policies else [manifests("webhook"), *folders])
    every = _registration([manifests("webhook"), *(manifests(f"components/{name}") for name in features.names())])
    every += filter(aggregation.is_aggregated, load_documents(manifests("components/visibility")))
    remains = [one for one in (*every, *keeping) if one not in (*registration, *policies)]
    guards, warnings = load_documents(manifests("guards")), load_documents(manifests("warnings"))
    return _Manifests(basis, registration, policies, guards, warnings, aggregated, remains)


def _registration(folders: Iterable[Path]) -> list[dict[str, Any]]:
    """What registers the webhook, without the Service that a sandbox has no use for."""
    return [document for folder in folders for document in load_documents(folder) if _registers(document)]


def _registers(document: dict[str, Any]) -> bool:
    return str(document["kind"]).endswith("WebhookConfiguration")


def _by_url(document: dict[str, Any], port: int, ca_pem: bytes) -> dict[str, Any]:
    """Let the apiserver reach the webhook on loopback: in the sandbox no Service leads anywhere."""
    for entry in document.get("webhooks", ()):
        path = entry["clientConfig"]["service"]["path"]
        entry["clientConfig"] = {
            "url": f"https://127.0.0.1:{port}{path}",
            "caBundle": base64.b64encode(ca_pem).decode(),
        }
    return document

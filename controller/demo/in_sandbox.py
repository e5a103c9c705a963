"""The demo in a sandbox of its own: real Kubernetes on fake nodes, and Penstock's two programs as in a cluster."""

from __future__ import annotations

import secrets
from contextlib import AsyncExitStack

from controller.demo import workload, world, writes
from controller.demo.asked import Question, questions
from controller.demo.page import shown, until_cancelled
from controller.demo.play import Run, play
from controller.demo.prepare import until_usable
from controller.demo.report import Report
from controller.demo.summary import Result
from controller.kube import clock
from controller.kube.apply import apply
from controller.sandbox import Sandbox
from controller.sandbox.installation import Installation, installed

_LEAST_SECONDS = 60.0
_SECONDS_PER_POD = 0.6

NEXT: tuple[tuple[str, str], ...] = (
    ("penstock demo --pods 1000 --seed 7", "longer queues, other pods"),
    ("penstock demo --page", "the same, with a page to look at in a browser"),
    (
        "penstock demo --kubeconfig FILE",
        "the same on a cluster of yours; all that it makes there is removed at the end",
    ),
    ("penstock sandbox up --nodes 8 --label example.com/lifecycle=spot", "a control plane that stays, to play with"),
    ('eval "$(penstock sandbox env)" && kubectl get nodes', "point kubectl at it"),
    (
        "penstock sandbox run",
        "Penstock in it; meanwhile penstock history and penstock usage say what became of its pods",
    ),
)


async def run(report: Report, *, pods: int, seed: int, with_page: bool = False) -> Result:
    """Run the demo in a new sandbox; nothing of it is left. Raises SandboxError, KubeError and DemoError.

    `with_page`: the page is open meanwhile, and stays after all pods have ended until whoever watches cancels this.
    """
    began = clock.monotonic()
    here = world.of_sandbox(secrets.token_hex(3))
    name = f"demo-{here.run}"
    report.step("Starting etcd, kube-apiserver, kube-controller-manager, kube-scheduler and fake kubelets")
    async with Sandbox.start(name=name, audit=True) as sandbox:
        report.detail(f"sandbox {name} is up after {clock.monotonic() - began:.1f} s; it ends with this command")
        report.step(
            "Adding nodes: " + ", ".join(f"{one.count} {one.name} with {one.cpu} cores" for one in world.NODE_SHAPES)
        )
        await sandbox.add_nodes(*world.NODE_SHAPES)
        report.step(
            "Installing Penstock: CRDs, RBAC, and webhook and controller as processes with ServiceAccounts of theirs"
        )
        components = ["visibility"] if with_page else []
        async with installed(sandbox, components=components) as penstock, AsyncExitStack() as stack:
            if with_page:
                await stack.enter_async_context(shown(report, sandbox))
            result, asked = await _run(report, sandbox, penstock, here, pods=pods, seed=seed)
            report.result(result)
            report.asked(asked)
            if with_page:
                await until_cancelled(report)
        report.step("Ending the sandbox and deleting all of it")
    return result


async def _run(
    report: Report, sandbox: Sandbox, penstock: Installation, here: world.DemoSetup, *, pods: int, seed: int
) -> tuple[Result, list[Question]]:
    async def check() -> None:
        await penstock.controller.wait_ready()
        await penstock.webhook.wait_ready()

    async with sandbox.client() as client:
        report.queues(here)
        await apply(client, world.objects(here))
        await until_usable(client, here)
        report.step(
            f"Creating {pods} pods (seed {seed}); the webhook holds each at the gate until there is quota and room"
        )
        report.detail(f'watch it from another terminal: eval "$({report.program} sandbox env --name {sandbox.name})"')
        deadline = _LEAST_SECONDS + _SECONDS_PER_POD * pods
        plan = Run(world=here, pods=workload.pods(here, pods, seed), deadline=deadline, check=check)
        seen, middle = await play(client, plan, report.console)
    counted = writes.from_audit_log(sandbox.audit_log)
    return Result.of(seen, counted), [] if middle is None else list(questions(middle, here, seen))

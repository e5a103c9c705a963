"""The demo on somebody's cluster: the controller runs here, as its own ServiceAccount there; all is removed at the end.

A webhook on this machine cannot be reached from most clusters, so the pods are created with the gate on them.
"""

from __future__ import annotations

import asyncio
import secrets
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import orjson

from controller.core.keys import GATE, GROUP, VERSION
from controller.demo import workload, world, writes
from controller.demo.access import service_account_kubeconfig
from controller.demo.asked import Question, questions
from controller.demo.errors import DemoError
from controller.demo.play import Run, play
from controller.demo.prepare import queues_trouble, until_usable
from controller.demo.report import Report
from controller.demo.summary import Result
from controller.demo.tenancy import Tenancy, plural, split
from controller.demo.world import Body, DemoSetup
from controller.kube import config
from controller.kube.client import Client
from controller.kube.connection import Connection
from controller.kube.errors import NotFound
from controller.kube.manifests import load_documents
from controller.sandbox.files import write_private
from controller.sandbox.installation import CONTROLLER_ACCOUNT, NAMESPACE, controller_program
from controller.sandbox.programs import Program
from controller.sandbox.shipped import manifests

_USER_AGENT = "penstock-demo"
_LEAST_SECONDS = 180.0
_SECONDS_PER_POD = 2.0
_PROBE_SECONDS = 4.0
_QUEUES = f"/apis/{GROUP}/{VERSION}/clusterqueues"

NEXT: tuple[tuple[str, str], ...] = (
    ("kubectl apply -k config/crd && kubectl apply -k config/rbac", "what the demo needs of Penstock, to stay"),
    ("kubectl apply -f config/samples/spot_first.yaml", "two teams, spot first; put your nodes' labels in"),
    ("penstock sandbox up", "a real control plane on this machine, to try queues without touching a cluster"),
)


async def run(report: Report, *, kubeconfig: str, pods: int, seed: int) -> Result:
    """Run the demo on the cluster of `kubeconfig`; nothing of it is left. Raises KubeError and DemoError."""
    here = world.of_cluster(secrets.token_hex(3))
    settings = await config.load(kubeconfig)
    async with Client(settings, user_agent=_USER_AGENT) as client:
        others = await _queue_names(client)
        kept, fresh = await split(client, [*load_documents(manifests("crd")), *load_documents(manifests("rbac"))])
        _announce(report, client, here, kept, fresh, pods)
        tenancy = Tenancy(client)
        try:
            report.step("Adding what is missing of Penstock's CRDs and RBAC")
            await tenancy.make(fresh)
            report.queues(here)
            await tenancy.make(world.objects(here))
            async with _controller(report, client, settings, here, others) as program:
                result, asked = await _run(report, client, here, program, pods=pods, seed=seed)
                report.result(result)
                report.asked(asked)
        finally:
            report.step("Removing everything that this run made, and waiting until it is gone")
            await tenancy.remove()
    return result


async def _run(
    report: Report, client: Client, here: DemoSetup, program: Program | None, *, pods: int, seed: int
) -> tuple[Result, list[Question]]:
    async def check() -> None:
        if program is not None:
            await program.wait_ready()

    await until_usable(client, here)
    report.step(f"Creating {pods} pods (seed {seed}), each with the gate {GATE} on it")
    deadline = _LEAST_SECONDS + _SECONDS_PER_POD * pods
    plan = Run(world=here, pods=workload.pods(here, pods, seed), deadline=deadline, check=check)
    seen, middle = await play(client, plan, report.console)
    port = None if program is None else program.port("http")
    counted = None if port is None else await asyncio.to_thread(writes.from_metrics, port)
    return Result.of(seen, counted), [] if middle is None else list(questions(middle, here, seen))


@asynccontextmanager
async def _controller(
    report: Report, client: Client, settings: Connection, here: DemoSetup, others: Sequence[str] | None
) -> AsyncIterator[Program | None]:
    """Run a controller unless the cluster has one: two that decide at once could together pass a quota."""
    if others is not None and await queues_trouble(client, here, _PROBE_SECONDS) is None:
        report.step("A controller serves this cluster already, and will release the pods; none is started here")
        yield None
        return
    if others:
        raise DemoError(
            f"the cluster has ClusterQueues, such as {others[0]}, and no controller that serves them; the demo's would "
            "release their pods too, so start the controller there first, or use a cluster without ClusterQueues"
        )
    report.step(f"Starting the controller on this machine, with a token of {NAMESPACE}/{CONTROLLER_ACCOUNT}")
    with tempfile.TemporaryDirectory(prefix="penstock-demo-") as folder:
        access = await service_account_kubeconfig(client, settings, NAMESPACE, CONTROLLER_ACCOUNT)
        program = controller_program(
            write_private(Path(folder) / "kubeconfig", access), Path(folder) / "penstock-controller.log"
        )
        program.start()
        try:
            await program.wait_ready()
            yield program
        finally:
            await program.stop()


async def _queue_names(client: Client) -> list[str] | None:
    """Return the names of the ClusterQueues that are there; None when the cluster does not know the kind."""
    try:
        items = orjson.loads(await client.get(_QUEUES))["items"]
    except NotFound:
        return None
    return [item["metadata"]["name"] for item in items]


def _announce(
    report: Report, client: Client, here: DemoSetup, kept: Sequence[Body], fresh: Sequence[Body], pods: int
) -> None:
    report.step(f"The demo is going to use the cluster at {client.url}")
    report.detail(f"all names begin with {here.prefix}, and all objects have the label {here.selector}")
    largest = here.amounts(max(workload.UNITS))
    report.detail(f"it makes {pods} pods that only wait, none larger than {largest['cpu']} cpu and {largest['memory']}")
    report.detail(f"it also makes {_counts(world.objects(here))}")
    if fresh:
        report.detail(f"of Penstock itself it adds {_counts(fresh)}")
    if kept:
        report.detail(f"of Penstock itself these are there and stay as they are: {_counts(kept)}")
    report.detail("everything that it makes is removed at the end, also after Ctrl-C")
    report.detail(f"a webhook on this machine cannot be reached from there: pods are created with the gate {GATE}")


def _counts(documents: Sequence[Body]) -> str:
    """Say how many of which kind."""
    counts = Counter(one["kind"] for one in documents)
    return ", ".join(f"{count} {plural(kind) if count > 1 else kind}" for kind, count in counts.items())

"""`make bench-webhook`: reviews per second a core and p99 of the real webhook, over TLS with keep-alive, under wrk.

Reviews are sent past the apiserver, whose own cost would hide the webhook's. The figure is reviews per second of CPU
time of the webhook's process, so that what else the machine does counts little; beside it what a handler that does
nothing reaches in the same run, for machines differ, and one machine differs from hour to hour.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import orjson
import psutil

from controller.kube.apply import apply
from controller.kube.client import Client
from controller.sandbox import Sandbox
from controller.sandbox.errors import SandboxError
from controller.sandbox.installation import installed
from tests.bench.policies import NAMESPACES, policies, team
from tests.bench.reviews import review
from tests.support.eventually import eventually

_REVIEWS = 200
_SCRIPT = Path(__file__).with_name("post.lua")


@dataclass(frozen=True, slots=True)
class Case:
    """One load, and the least that the design asks of it, in reviews per second a core."""

    name: str
    bar: int
    components: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()


CASES = (
    Case("gate only", 10_000),
    Case(
        f"100 policies, {NAMESPACES:,} namespaces",
        3_000,
        ("pod-policies", "scheduling-policies"),
        ("--pod-policies", "--scheduling-policies"),
    ),
)


BARE = Case("a bare aiohttp handler", 0)


@dataclass(frozen=True, slots=True)
class Target:
    """What is measured: a server on loopback, its process, and the file of reviews for it, one a line."""

    port: int
    process: psutil.Process
    reviews: Path


@dataclass(frozen=True, slots=True)
class Measured:
    """Reviews per second of CPU time, and how long they took, in milliseconds."""

    per_core: float
    p50: float
    p99: float


_Load = Callable[[Target], Awaitable[Measured]]


@click.command(context_settings={"show_default": True})
@click.option("--seconds", type=click.IntRange(1, 600), default=10, help="How long each load lasts.")
@click.option("--connections", type=click.IntRange(1, 1000), default=16, help="Connections at once.")
def main(seconds: int, connections: int) -> None:
    """Measure the webhook on this machine."""
    if shutil.which("wrk") is None:
        raise click.ClickException("wrk is not there; on Debian and Ubuntu: apt install wrk")
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    click.echo(f"{os.cpu_count()} cores, load {load}, {connections} connections, {seconds} s each\n")
    click.echo(f"{'load':<32} {'reviews/s a core':>17} {'asked for':>10} {'of bare':>8} {'p50 ms':>8} {'p99 ms':>8}")
    asyncio.run(_compare(partial(_load, seconds, connections)))


async def _compare(load: _Load) -> None:
    """The machine first, with what does nothing, then each case in proportion to that."""
    async with bare_handler() as target:
        bare = await load(target)
    _tell(BARE, bare, bare.per_core)
    for case in CASES:
        async with webhook(case) as target:
            _tell(case, await load(target), bare.per_core)


def _tell(case: Case, measured: Measured, bare: float) -> None:
    bar = f"{case.bar:,}" if case.bar else "-"
    click.echo(
        f"{case.name:<32} {measured.per_core:>17,.0f} {bar:>10} {measured.per_core / bare:>8.2f} "
        f"{measured.p50:>8.2f} {measured.p99:>8.2f}"
    )


async def _load(seconds: int, connections: int, target: Target) -> Measured:
    before = target.process.cpu_times()
    wrk = await asyncio.create_subprocess_exec(
        *("wrk", "--threads", "1", "--connections", str(connections), "--duration", f"{seconds}s"),
        *("--latency", "--script", str(_SCRIPT), f"https://127.0.0.1:{target.port}/mutate/pods"),
        env={**os.environ, "REVIEWS": str(target.reviews)},
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await wrk.communicate()
    after = target.process.cpu_times()
    spent = after.user + after.system - before.user - before.system
    result = next((line.split()[1:] for line in output.decode().splitlines() if line.startswith("RESULT")), None)
    if wrk.returncode or result is None:
        raise click.ClickException(f"wrk failed with {wrk.returncode}:\n{output.decode()}")
    requests, errors = int(result[0]), int(result[3])
    if errors:
        raise click.ClickException(
            f"{errors} of {requests} reviews were not answered with 200: the figure is worth nothing"
        )
    return Measured(requests / spent, float(result[1]), float(result[2]))


@asynccontextmanager
async def bare_handler() -> AsyncIterator[Target]:
    """Run a handler that does nothing, in a process of its own."""
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.bench.bare", stdout=asyncio.subprocess.PIPE
    )
    try:
        with TemporaryDirectory() as folder:
            reviews = _write_reviews(Path(folder), ["team"] * _REVIEWS)
            assert program.stdout is not None
            yield Target(int(await program.stdout.readline()), psutil.Process(program.pid), reviews)
    finally:
        program.terminate()
        await program.wait()


@asynccontextmanager
async def webhook(case: Case) -> AsyncIterator[Target]:
    """Run the webhook on a control plane of its own, with what the case asks for."""
    async with Sandbox.start() as sandbox:
        async with sandbox.client() as client:
            if case.components:
                click.echo(f"making {NAMESPACES:,} namespaces ...", err=True)
            names = [team(number) for number in range(NAMESPACES if case.components else 1)]
            for start in range(0, len(names), 100):
                await asyncio.gather(*(client.post("/api/v1/namespaces", one) for one in names[start : start + 100]))
            await eventually(
                partial(_is_settled, client, len(names)), seconds=120, message="namespaces are not settled"
            )
        async with installed(sandbox, components=case.components, webhook_arguments=case.arguments) as programs:
            async with sandbox.client() as client:
                if case.components:
                    await apply(client, policies())
            spread = [names[n * len(names) // _REVIEWS]["metadata"]["name"] for n in range(_REVIEWS)]
            reviews = _write_reviews(sandbox.folder, spread)
            port = programs.webhook.port("reviews")
            if port is None:
                raise SandboxError(f"the webhook has not said where it answers:\n{programs.webhook.tail()}")
            await asyncio.sleep(2)  # the last policies are still on their way
            yield Target(port, psutil.Process(programs.webhook.process.pid), reviews)


def _write_reviews(folder: Path, namespaces: Sequence[str]) -> Path:
    file = folder / "reviews"
    file.write_bytes(b"\n".join(review(namespace, n) for n, namespace in enumerate(namespaces)) + b"\n")
    return file


async def _is_settled(client: Client, namespaces: int) -> bool:
    """Whether the control plane has furnished all namespaces, and leaves the machine to the webhook."""
    # each has one of them; the control plane has a few more
    found = orjson.loads(await client.get("/api/v1/configmaps", params={"limit": "1"}))
    return int(found["metadata"].get("remainingItemCount", 0)) > namespaces


if __name__ == "__main__":
    main()

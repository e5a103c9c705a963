"""`python -m tests.bench.rates`: how long the webhook takes for a review at fixed rates.

Beside it a handler that does nothing, at the same rates in the same run. Reviews are sent when they are due, whether or
not earlier ones are answered, over TLS with keep-alive. What a client in Python adds is in both.
"""

from __future__ import annotations

import asyncio
import ssl
from contextlib import AsyncExitStack
from typing import Final

import aiohttp
import click

from controller.kube import clock
from tests.bench.figures import Figure, tell
from tests.bench.waits import quantile
from tests.bench.webhook import CASES, Target, bare_handler, webhook

RATES: Final = (50, 200, 500)
"""Reviews a second."""
_CONNECTIONS: Final = 16
_WARM_UP: Final = 200


@click.command(context_settings={"show_default": True})
@click.option("--seconds", type=click.IntRange(1, 600), default=10, help="How long each load lasts.")
@click.option("--rounds", type=click.IntRange(1, 20), default=3, help="How often both are measured, in turn.")
@click.option("--check", is_flag=True, help="Fail where a figure exceeds its budget.")
def main(seconds: int, rounds: int, check: bool) -> None:
    """Measure how long reviews take at fixed rates on this machine."""
    tell(asyncio.run(_rounds(seconds, rounds)), check)


async def _rounds(seconds: int, rounds: int) -> list[Figure]:
    found: dict[tuple[str, int], list[list[float]]] = {}
    async with AsyncExitStack() as stack:
        case = CASES[0]
        targets = {
            "bare": await stack.enter_async_context(bare_handler()),
            "webhook": await stack.enter_async_context(webhook(case)),
        }
        for number in range(rounds):
            click.echo(f"round {number + 1}: {', '.join(map(str, RATES))} reviews a second", err=True)
            for rate in RATES:
                for name, target in targets.items():
                    found.setdefault((name, rate), []).append(await _load(target, rate, seconds))
    return [
        Figure(
            f"webhook/{rate}-a-second/{name}",
            [1000 * quantile(one, part) for one in found["webhook", rate]],
            [1000 * quantile(one, part) for one in found["bare", rate]],
            "ms",
        )
        for rate in RATES
        for name, part in (("p50", 0.5), ("p99", 0.99))
    ]


async def _load(target: Target, rate: int, seconds: int) -> list[float]:
    """Send so many reviews a second; return how long each took from when it was due, in seconds, ascending.

    Raises ClickException where one is not answered with 200.
    """
    reviews = await asyncio.to_thread(lambda: target.reviews.read_bytes().splitlines())
    insecure = ssl.create_default_context()
    insecure.check_hostname, insecure.verify_mode = False, ssl.CERT_NONE
    connector = aiohttp.TCPConnector(ssl=insecure, limit=_CONNECTIONS)
    url, took = f"https://127.0.0.1:{target.port}/mutate/pods", list[float]()
    async with aiohttp.ClientSession(connector=connector) as session:

        async def send(number: int, due: float) -> None:
            body, headers = reviews[number % len(reviews)], {"Content-Type": "application/json"}
            async with session.post(url, data=body, headers=headers) as answer:
                await answer.read()
            if answer.status != 200:
                raise click.ClickException(f"{url} answered with {answer.status}: the figure is worth nothing")
            took.append(clock.monotonic() - due)

        for number in range(_WARM_UP):
            await send(number, clock.monotonic())
        took.clear()
        start = clock.monotonic()
        async with asyncio.TaskGroup() as group:
            for number in range(rate * seconds):
                due = start + number / rate
                await asyncio.sleep(max(0.0, due - clock.monotonic()))
                group.create_task(send(number, due))
    return sorted(took)


if __name__ == "__main__":
    main()

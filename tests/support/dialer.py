"""`python -m tests.support.dialer PORT CA COUNT RATE`: new TLS connections at a fixed rate, each with one request.

It prints how many were answered, how many not, and how many came in a second.
"""

from __future__ import annotations

import asyncio
import ssl
import sys

import uvloop

from controller.kube import clock
from controller.telemetry.http import Address
from tests.support.secured import Wire, review


async def dial(address: Address, context: ssl.SSLContext, count: int, rate: int) -> tuple[int, float]:
    """Open connections when it is their time, whether those before are answered or not; say how many failed."""
    begin, failed = clock.monotonic(), 0

    async def one() -> None:
        nonlocal failed
        try:
            wire = await Wire.open(address, context)
            status, _ = await wire.ask(review())
            wire.close()
            failed += status != 200
        except (OSError, asyncio.IncompleteReadError):
            failed += 1

    async with asyncio.TaskGroup() as group:
        for number in range(count):
            await asyncio.sleep(max(0.0, begin + number / rate - clock.monotonic()))
            group.create_task(one(), name=f"dial-{number}")
    return failed, count / (clock.monotonic() - begin)


def main() -> None:
    port, authority, count, rate = sys.argv[1:]
    context = ssl.create_default_context(cafile=authority)
    failed, pace = uvloop.run(dial(Address("127.0.0.1", int(port)), context, int(count), int(rate)))
    sys.stdout.write(f"{int(count) - failed} {failed} {pace:.0f}\n")


if __name__ == "__main__":
    main()

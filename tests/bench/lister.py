"""`python -m tests.bench.lister KUBECONFIG`: lists all pods and decodes them, and does nothing with them.

The least that a program in this language does before it can decide about pods; it prints how many there are.
"""

from __future__ import annotations

import asyncio
import resource
import sys

import orjson

from controller.kube import config
from controller.kube.client import Client

_PAGE = 500


async def _listed(kubeconfig: str) -> int:
    found = list[object]()
    async with Client(await config.load(kubeconfig), user_agent="bench-lister") as client:
        more = ""
        while True:
            page = orjson.loads(await client.get("/api/v1/pods", {"limit": str(_PAGE), "continue": more}))
            found += page["items"]
            more = page["metadata"].get("continue", "")
            if not more:
                return len(found)


if __name__ == "__main__":
    count = asyncio.run(_listed(sys.argv[1]))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sys.stdout.write(f"{count} {memory}\n")

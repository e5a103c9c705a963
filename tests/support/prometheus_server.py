"""A Prometheus server on loopback, built from the same module as promtool: what boards show of programs that run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from tests.support import go_programs
from tests.support.eventually import eventually
from tests.support.ports import free_port

_MODULE = Path(__file__).parent / "prometheus"
_SCRAPED = "1s"
_STEP_SECONDS = 2

Line = tuple[dict[str, str], list[tuple[float, float]]]
"""Labels of a series, and its values by epoch seconds."""


def ensure() -> Path:
    """The program, built if this version of it never was; that takes some minutes."""
    return go_programs.ensure(_MODULE, "prometheus", "github.com/prometheus/prometheus/cmd/prometheus")


@dataclass(frozen=True, slots=True)
class Prometheus:
    """A server that runs."""

    url: str

    async def lines(self, query: str, start: float, end: float) -> Sequence[Line]:
        """What a query gives between two times. Raises AssertionError with the server's words where it is wrong."""
        params = {"query": query, "start": f"{start}", "end": f"{end}", "step": f"{_STEP_SECONDS}"}
        url = f"{self.url}/api/v1/query_range"
        async with aiohttp.ClientSession() as session, session.get(url, params=params) as reply:
            answer: dict[str, Any] = await reply.json()
        assert answer["status"] == "success", f"{query}: {answer.get('error')}"
        return [
            (one["metric"], [(float(at), float(value)) for at, value in one["values"]])
            for one in answer["data"]["result"]
        ]


@asynccontextmanager
async def scraping(addresses: Sequence[str], folder: Path) -> AsyncIterator[Prometheus]:
    """Run a server that scrapes these addresses each second, for as long as the block runs."""
    settings, address = folder / "prometheus.yaml", f"127.0.0.1:{free_port()}"
    job = {"job_name": "penstock", "scrape_interval": _SCRAPED, "scrape_timeout": _SCRAPED}
    settings.write_text(yaml.safe_dump({"scrape_configs": [{**job, "static_configs": [{"targets": [*addresses]}]}]}))
    command = [f"--config.file={settings}", f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address={address}"]
    program = await asyncio.to_thread(ensure)
    log = folder / "prometheus.log"
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(program, *command, stdout=output, stderr=output)
    try:
        server = Prometheus(f"http://{address}")

        async def is_ready() -> bool:
            assert process.returncode is None, log.read_text()
            try:
                async with aiohttp.ClientSession() as session, session.get(f"{server.url}/-/ready") as answer:
                    return answer.status == 200
            except aiohttp.ClientError:
                return False

        await eventually(is_ready, message="Prometheus is not ready")
        yield server
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


if __name__ == "__main__":
    ensure()

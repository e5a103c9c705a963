"""Metrics as Prometheus would have them: what programs serve, before and after something."""

from __future__ import annotations

from collections.abc import Mapping

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from controller.sandbox.programs import Program
from tests.support.clusters import Cluster

Samples = Mapping[str, float]


async def scrape(cluster: Cluster) -> Samples:
    """What the programs that run serve now, by series."""
    found: dict[str, float] = {}
    for program in (cluster.programs.controller, cluster.programs.webhook):
        if program.exit_code is None:
            found |= await samples_of(program)
    return found


async def samples_of(program: Program) -> dict[str, float]:
    url = f"http://127.0.0.1:{program.port('http')}/metrics"
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        text = await answer.text()
    return {
        _series(sample.name, sample.labels): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith("penstock_") and not sample.name.endswith("_created")
    }


def _series(name: str, labels: Mapping[str, str]) -> str:
    inner = ", ".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
    return f"{name}{{{inner}}}" if inner else name


def over_time(before: Samples, after: Samples, *, deciding: bool = True, goes_on: bool = False) -> dict[str, str]:
    """A quarter of an hour as before, and then as after; while the controller decides, that goes on counting.

    Where a fault goes on, what counts grows each minute by as much as it did once.
    """
    series = {}
    for name in before.keys() | after.keys():
        first = f"{before[name]}x15" if name in before else "_x15"
        grows = after.get(name, 0) - before.get(name, 0) if goes_on and _counts(name) else 0
        then = f"{after[name]}+{grows}x25" if name in after else "_x25"
        series[name] = f"{first} {then}"
    return {**series, "penstock_decision_seconds_count": "0+6x40"} if deciding else series


def _counts(series: str) -> bool:
    return series.partition("{")[0].endswith(("_total", "_count", "_bucket", "_sum"))

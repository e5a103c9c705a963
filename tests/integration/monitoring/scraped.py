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
            found |= await _of(program)
    return found


async def _of(program: Program) -> dict[str, float]:
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


def over_time(before: Samples, after: Samples, *, deciding: bool = True) -> dict[str, str]:
    """A quarter of an hour as before, and then as after; while the controller decides, that goes on counting."""
    series = {name: f"{before[name]}x15 " if name in before else "_x15 " for name in before.keys() | after.keys()}
    series = {name: text + (f"{after[name]}x25" if name in after else "_x25") for name, text in series.items()}
    return {**series, "penstock_decision_seconds_count": "0+6x40"} if deciding else series

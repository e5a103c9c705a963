"""Metrics as Prometheus would have them: what programs serve, before and after something."""

from __future__ import annotations

from collections.abc import Mapping

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from controller.kube import clock
from controller.kube.client import Client
from controller.sandbox.programs import Program
from tests.support.clusters import Cluster

LOOKED_AT = 28 * 60.0
"""When alerts are looked at, in seconds; the fault begins after 16 minutes."""
Samples = Mapping[str, float]


async def scrape(cluster: Cluster) -> Samples:
    """What the programs that run serve now, by series."""
    found: dict[str, float] = {}
    for program in (cluster.programs.controller, cluster.programs.webhook):
        if program.exit_code is None:
            found |= await samples_of(program)
    return found


async def samples_of(program: Program) -> dict[str, float]:
    """What a program serves now."""
    url = f"http://127.0.0.1:{program.port('http')}/metrics"
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return _samples(await answer.text(), "penstock_")


async def samples_of_apiserver(client: Client) -> dict[str, float]:
    """What the apiserver says about admission webhooks now."""
    return _samples((await client.get("/metrics")).decode(), "apiserver_admission_webhook_")


def _samples(text: str, prefix: str) -> dict[str, float]:
    # the parser gives every counter the suffix that some of the apiserver's lack
    return {
        _series(sample.name if sample.name in text else sample.name.removesuffix("_total"), sample.labels): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith(prefix) and not sample.name.endswith("_created")
    }


def _series(name: str, labels: Mapping[str, str]) -> str:
    inner = ", ".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
    return f"{name}{{{inner}}}" if inner else name


def over_time(before: Samples, after: Samples, *, deciding: bool = True, goes_on: bool = False) -> dict[str, str]:
    """A quarter of an hour as before, and then as after; while the controller decides, that goes on counting.

    Where a fault goes on, what counts grows each minute by as much as it did once.
    """
    before, after = _by_its_clock(before), _by_its_clock(after)
    series = {}
    for name in before.keys() | after.keys():
        first = f"{before[name]}x15" if name in before else "_x15"
        grows = after.get(name, 0) - before.get(name, 0) if goes_on and _counts(name) else 0
        then = f"{after[name]}+{grows}x25" if name in after else "_x25"
        series[name] = f"{first} {then}"
    return {**series, "penstock_decision_seconds_count": "0+6x40"} if deciding else series


def _by_its_clock(samples: Samples) -> Samples:
    """Let points in time be as far away as they are now: the clock of these series begins at 0."""
    now = clock.now() - LOOKED_AT
    return {name: value - now if _is_time(name) else value for name, value in samples.items()}


def _is_time(series: str) -> bool:
    return series.endswith("_timestamp_seconds")


def _counts(series: str) -> bool:
    return series.partition("{")[0].endswith(("_total", "_count", "_bucket", "_sum"))

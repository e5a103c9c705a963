from __future__ import annotations

import asyncio
from collections.abc import Iterator

import aiohttp
import pytest
from prometheus_client import CollectorRegistry, Gauge

from controller.core.workloads.decisions import Admit
from controller.runtime import gauges
from controller.telemetry.http import Address, AddressError, endpoints, serving
from controller.telemetry.metrics import ControllerMetrics
from tests.support.builders import GPU, a_cache, a_cluster_queue, a_pod, a_quota, a_shape, decided

LOOPBACK = Address("127.0.0.1", 0)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8080", Address("127.0.0.1", 8080)),
        (":8080", Address("", 8080)),
        ("0.0.0.0:0", Address("0.0.0.0", 0)),  # noqa: S104 - only read here
        ("[::1]:443", Address("::1", 443)),
        ("localhost:65535", Address("localhost", 65535)),
    ],
)
def test_an_address_is_read(text: str, address: Address) -> None:
    assert Address.parse(text) == address


@pytest.mark.parametrize("text", ["", "8080", "localhost", "localhost:", "localhost:http", "a:-1", "a:65536", "a: 80"])
def test_what_is_no_address_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(AddressError) as caught:
        Address.parse(text)
    assert str(caught.value) == f"{text!r} is not an address; write HOST:PORT, such as 127.0.0.1:8080"


async def get(path: str, *, ready: str | None = None, healthy: str | None = None) -> tuple[int, str]:
    registry = CollectorRegistry()
    gauge = Gauge("penstock_test", "A gauge.", registry=registry)
    app = endpoints(registry, ready=lambda: ready, healthy=lambda: healthy, refresh=lambda: gauge.set(7))
    async with serving(app, LOOPBACK) as address, aiohttp.ClientSession() as session:
        assert address.port > 0
        async with session.get(f"http://127.0.0.1:{address.port}{path}") as answer:
            return answer.status, await answer.text()


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_all_well_is_ok(path: str) -> None:
    assert await get(path) == (200, "ok")


async def test_what_is_not_well_is_said_in_one_line() -> None:
    assert await get("/readyz", ready="not listed yet: pods") == (503, "not listed yet: pods")
    assert await get("/healthz", healthy="no decision for 70 s") == (503, "no decision for 70 s")


async def test_gauges_are_brought_up_to_date_before_a_scrape() -> None:
    status, text = await get("/metrics")
    assert (status, "penstock_test 7.0" in text) == (200, True)


async def test_gauges_in_parts_are_refreshed_by_one_scrape_at_a_time() -> None:
    inside, most, refreshed = 0, 0, 0

    def refresh() -> Iterator[None]:
        nonlocal inside, most, refreshed
        inside += 1
        most = max(most, inside)
        yield from [None] * 20
        inside -= 1
        refreshed += 1

    app = endpoints(CollectorRegistry(), ready=lambda: None, healthy=lambda: None, refresh=refresh)
    async with serving(app, LOOPBACK) as address, aiohttp.ClientSession() as session:
        answers = [session.get(f"http://127.0.0.1:{address.port}/metrics") for _ in range(8)]
        assert [answer.status for answer in await asyncio.gather(*answers)] == [200] * 8
    assert (most, refreshed) == (1, 8)


async def test_an_address_that_is_taken_is_one_line_with_what_to_do() -> None:
    app = endpoints(CollectorRegistry(), ready=lambda: None, healthy=lambda: None)
    other = endpoints(CollectorRegistry(), ready=lambda: None, healthy=lambda: None)
    async with serving(app, LOOPBACK) as taken:
        with pytest.raises(AddressError) as caught:
            async with serving(other, taken):
                raise AssertionError("two listen on one address")
    assert str(caught.value).startswith(f"cannot listen on 127.0.0.1:{taken.port}: ")
    assert str(caught.value).endswith("; choose another address")


def samples(metrics: ControllerMetrics) -> dict[str, float]:
    found = {}
    for gauge in (metrics.pending, metrics.used, metrics.quota):
        for metric in gauge.collect():
            found.update({f"{s.name} {' '.join(s.labels.values())}": s.value for s in metric.samples})
    return found


def test_gauges_show_who_waits_and_what_is_used() -> None:
    queue = a_cluster_queue("team-a", a_quota(cpu="1500m", memory="1Gi", **{GPU: "0"}))
    big = a_pod("big", a_shape(cpu="9"), created=3)
    cache = a_cache(a_pod("a", created=1), a_pod("b", created=2), big, a_pod("x", queue="gone"), queues=[queue])
    plan = decided(cache)
    assert [type(admit) for admit in plan.admits] == [Admit]
    metrics = ControllerMetrics()
    for _ in range(2):
        list(gauges.refresh(cache, metrics))
        assert samples(metrics) == {
            "penstock_pending_workloads team-a QuotaExceeded": 1,
            "penstock_pending_workloads team-a NeverFits": 1,
            "penstock_pending_workloads  QueueNotFound": 1,
            "penstock_quota_used team-a spot cpu": 1,
            "penstock_quota_used team-a spot memory": 0,
            "penstock_quota_used team-a spot nvidia.com/gpu": 0,
            "penstock_quota_nominal team-a spot cpu": 1.5,
            "penstock_quota_nominal team-a spot memory": 2**30,
            "penstock_quota_nominal team-a spot nvidia.com/gpu": 0,
        }

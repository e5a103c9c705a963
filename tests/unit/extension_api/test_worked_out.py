"""What a copy of the process works out: remedies and reasons are those of the command line, and hide whom they must."""

from __future__ import annotations

import pytest

from controller.cache.cluster import ClusterCache
from controller.extension_api.pacing import Turns
from controller.extension_api.queueing.registry import resources
from controller.extension_api.resources import HIDDEN, Entry, Page, Query, Resource
from controller.extension_api.statuses import Refused
from controller.forking import Forks
from controller.visibility.explanation_rows import ReasonRow, RemedyRow
from controller.visibility.explanations import explain
from controller.visibility.findings import Findings
from controller.visibility.queue_explanations import explain_cluster_queue
from controller.visibility.start_forecasts import StartForecasts
from tests.support.builders import (
    a_cache,
    a_cluster_queue,
    a_local_queue,
    a_node,
    a_pod,
    a_quota,
    a_released_pod,
    a_shape,
    decided,
)

TEAM = "team-a"


def a_full_queue() -> ClusterCache:
    """One pod of another namespace has all the quota; two wait."""
    cpu = a_shape(cpu="1")
    cache = a_cache(
        a_released_pod("run", cpu, namespace="other", node="node"),
        a_pod("first", cpu),
        a_pod("large", a_shape(cpu="90"), created=9.0),
        nodes=[a_node(cpu="64")],
        queues=[a_cluster_queue(TEAM, a_quota(cpu="1"))],
        locals_=[a_local_queue(), a_local_queue(namespace="other")],
    )
    decided(cache)
    return cache


def of(cache: ClusterCache, plural: str, subresource: str) -> Resource:
    found = resources(cache, StartForecasts(), Turns(), Forks(1)).find(plural, subresource)
    assert found is not None
    return found


async def page(one: Resource, query: Query) -> Page | None:
    assert one.list is not None
    return await one.list(query)


async def entries(one: Resource, query: Query) -> list[Entry]:
    found = await page(one, query)
    assert found is not None
    return list(found.entries)


async def test_remedies_are_those_of_the_command_line() -> None:
    cache = a_full_queue()
    found = await entries(of(cache, "explanations", "remedies"), Query(namespace="default", name="pod.first"))
    workload = cache.backlog.of_pod("first")
    assert workload is not None
    wanted = explain(cache.snapshot(), workload).remedies
    assert tuple(one.row for one in found) == wanted
    assert (wanted[0].cost, wanted[0].admits, wanted[0].pods) == ("WAITING", True, ("other/run",))


async def test_a_remedy_hides_who_would_have_to_end() -> None:
    one = of(a_full_queue(), "explanations", "remedies")
    first, *_ = await entries(one, Query(namespace="default", name="pod.first"))
    assert first.names == {"default", "other"}
    assert one.redact is not None
    hidden = one.redact(first, {"default"}).row
    assert isinstance(hidden, RemedyRow)
    assert (hidden.change, hidden.pods) == ("when a pod of another namespace ends", (HIDDEN,))
    assert "run" not in repr(hidden)


def two_that_run(*namespaces: str) -> ClusterCache:
    """Both of them have to end before the one that waits has quota."""
    cpu = a_shape(cpu="1")
    running = (
        a_released_pod(f"run-{at}", cpu, namespace=one, node="node-1", expected_runtime=60 + at, started=1)
        for at, one in enumerate(namespaces)
    )
    return a_cache(
        *running,
        a_pod("large", a_shape(cpu="2")),
        nodes=[a_node(cpu="64")],
        queues=[a_cluster_queue(TEAM, a_quota(cpu="2"))],
        locals_=[a_local_queue(namespace=one) for one in ("default", "other", "third")],
    )


@pytest.mark.parametrize(
    ("namespaces", "change"),
    [
        (("third", "other"), "when 2 pods of other namespaces end"),
        (("other", "default"), "when 2 pods end, of other namespaces too"),
        (("default", "other"), "when 2 pods end, of other namespaces too"),
    ],
)
async def test_a_hidden_remedy_says_how_many_end(namespaces: tuple[str, str], change: str) -> None:
    one = of(two_that_run(*namespaces), "explanations", "remedies")
    first, *_ = await entries(one, Query(namespace="default", name="pod.large"))
    assert first.names == {"default", *namespaces}
    assert isinstance(first.row, RemedyRow)
    assert first.row.change.startswith(f"when {namespaces[1]}/run-1 and 1 more pod end")
    assert (first.row.pods, first.row.ending) == ((f"{namespaces[1]}/run-1", f"{namespaces[0]}/run-0"), 2)
    assert one.redact is not None
    hidden = one.redact(first, {"default"}).row
    assert isinstance(hidden, RemedyRow)
    assert (hidden.change, hidden.pods, hidden.ending) == (change, (HIDDEN, HIDDEN), 2)


async def test_of_many_that_end_all_are_counted() -> None:
    namespaces = ("default", *["other"] * 120)
    cache = two_that_run(*namespaces)
    cache.set_cluster_queue(TEAM, a_cluster_queue(TEAM, a_quota(cpu="121")))
    cache.put_node(a_node(cpu="128", pods=200))
    cache.put_pod(a_pod("large", a_shape(cpu="121")))
    one = of(cache, "explanations", "remedies")
    first, *_ = await entries(one, Query(namespace="default", name="pod.large"))
    assert isinstance(first.row, RemedyRow)
    assert (len(first.row.pods), first.row.ending) == (100, 121)
    assert one.redact is not None
    hidden = one.redact(first, {"default"}).row
    assert isinstance(hidden, RemedyRow)
    assert hidden.change == "when 121 pods end, of other namespaces too"


async def test_what_does_not_wait_needs_no_remedy() -> None:
    one = of(a_full_queue(), "explanations", "remedies")
    assert await entries(one, Query(namespace="other", name="pod.run")) == []
    assert await page(one, Query(namespace="default", name="pod.none")) is None


async def test_reasons_are_those_of_the_command_line() -> None:
    cache = a_full_queue()
    told = explain_cluster_queue(cache.snapshot(), Findings(cache.reasons.of), TEAM)
    assert told is not None
    assert [(one.reason, one.pods) for one in told.reasons] == [("QuotaExceeded", 1), ("NeverFits", 1)]
    for plural, query in (
        ("clusterqueues", Query(name=TEAM)),
        ("localqueues", Query(namespace="default", name="main")),
    ):
        found = await entries(of(cache, plural, "reasons"), query)
        assert [one.row for one in found] == list(told.reasons)
        assert await page(of(cache, plural, "reasons"), Query(namespace="default", name="none")) is None


async def test_a_reason_hides_who_is_the_first() -> None:
    one = of(a_full_queue(), "clusterqueues", "reasons")
    first, *_ = await entries(one, Query(name=TEAM))
    assert one.redact is not None
    assert one.redact(first, {"default"}) is first
    hidden = one.redact(first, {"other"}).row
    assert isinstance(hidden, ReasonRow)
    assert (hidden.reason, hidden.pods, hidden.first, hidden.namespace) == ("QuotaExceeded", 1, HIDDEN, HIDDEN)


async def test_what_fails_in_the_copy_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise ValueError("no such flavor")

    monkeypatch.setattr("controller.extension_api.queueing.remedies.remedies", failing)
    one = of(a_full_queue(), "explanations", "remedies")
    with pytest.raises(Refused, match="it could not be worked out: ValueError: no such flavor") as caught:
        await page(one, Query(namespace="default", name="pod.first"))
    assert caught.value.code == 500

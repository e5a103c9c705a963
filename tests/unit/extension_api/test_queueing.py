"""What the resources of queues say of a cache: lines are those of the decision, pages go on where they ended."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from controller.cache.cluster import ClusterCache
from controller.core.kubernetes.owners import Owner
from controller.core.queueing.fair_sharing_policy import FairSharing
from controller.core.queueing.past_usage import PastUsageRule
from controller.core.workloads.groups import GroupKey, Membership
from controller.extension_api.pacing import Turns
from controller.extension_api.queueing.pending import PendingWorkload
from controller.extension_api.queueing.registry import resources
from controller.extension_api.queueing.world import World
from controller.extension_api.resources import HIDDEN, Entry, Page, Query, Registry, Resource
from controller.extension_api.statuses import Refused
from controller.forking import Forks
from controller.visibility.explanation_rows import ExplanationRow, HolderRow
from controller.visibility.findings import Findings
from controller.visibility.lines import lines
from controller.visibility.order_parts import order, shares
from controller.visibility.queues import cluster_queues, local_queues
from controller.visibility.rows import ClusterQueueRow, OrderRow, PodRow, ShareRow
from controller.visibility.start_forecasts import StartForecasts
from controller.visibility.workloads import pods
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


def a_world() -> ClusterCache:
    """Two namespaces in two queues of one cpu each: `run` runs, the others wait."""
    cpu = a_shape(cpu="1")
    pods = [
        a_released_pod("run", cpu, node="node"),
        *(a_pod(f"a{number}", cpu, created=float(number)) for number in range(3)),
        a_pod("first", cpu, namespace="other", priority=5, created=9.0),
        a_pod("b", a_shape(cpu="2"), namespace="other", queue="second", created=1.0),
        a_pod("lost", cpu, namespace="other", queue="none"),
    ]
    cache = a_cache(
        *pods,
        nodes=[a_node(cpu="64")],
        queues=[a_cluster_queue("team-a", a_quota(cpu="1")), a_cluster_queue("team-b", a_quota(cpu="1"))],
        locals_=[
            a_local_queue(),
            a_local_queue(namespace="other"),
            a_local_queue("second", "team-b", namespace="other"),
        ],
    )
    cache.set_namespace("other", {})
    decided(cache)
    return cache


def served(cache: ClusterCache) -> Registry:
    return resources(cache, StartForecasts(), Turns(), Forks(1))


def resource(cache: ClusterCache, plural: str, subresource: str = "") -> Resource:
    found = served(cache).find(plural, subresource)
    assert found is not None
    return found


async def page(one: Resource, query: Query) -> Page:
    assert one.list is not None
    found = await one.list(query)
    assert found is not None
    return found


async def every(one: Resource, query: Query) -> list[Entry]:
    """All entries, page by page."""
    found = await page(one, query)
    entries = [*found.entries]
    while found.end:
        found = await page(one, replace(query, after=found.end))
        entries += found.entries
    return entries


def names(entries: list[Entry]) -> list[str]:
    return [f"{one.namespace}/{one.name}" for one in entries]


ALL = ["other/lost", "other/first", "default/a0", "default/a1", "default/a2", "other/b"]


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
async def test_who_waits_comes_in_order_by_pages(limit: int) -> None:
    pending = resource(a_world(), "pendingworkloads")
    assert names(await every(pending, Query(limit=limit))) == ALL
    assert names(await every(pending, Query(limit=limit, namespace="other"))) == [ALL[0], ALL[1], ALL[5]]


async def test_what_has_no_local_queue_has_a_place_among_its_own() -> None:
    cache = a_world()
    for name, namespace in (("lost too", "other"), ("mine", "default")):
        cache.put_pod(a_pod(name, a_shape(cpu="1"), namespace=namespace, queue="none", created=99.0))
    decided(cache)
    for plural in ("pendingworkloads", "queuepods", "workloadorders"):
        entries = await every(resource(cache, plural), Query(limit=2))
        rows = [one.row for one in entries if isinstance(one.row, PendingWorkload | PodRow | OrderRow)]
        placed = [(row.local_queue, row.cluster_queue, row.place) for row in rows if row.local_queue == "none"]
        assert placed == [("none", "", 1), ("none", "", 1), ("none", "", 2)], plural


async def test_a_queue_has_its_own_line() -> None:
    cache = a_world()
    of_queue = resource(cache, "clusterqueues", "pendingworkloads")
    assert names(await every(of_queue, Query(name="team-a", limit=2))) == ALL[1:5]
    of_local = resource(cache, "localqueues", "pendingworkloads")
    entries = await every(of_local, Query(namespace="default", name="main", limit=2))
    rows = [one.row for one in entries if isinstance(one.row, PendingWorkload)]
    assert [(row.place, row.place_in_local_queue) for row in rows] == [(2, 1), (3, 2), (4, 3)]
    for one, query in ((of_queue, Query(name="none")), (of_local, Query(namespace="default", name="none"))):
        assert one.list is not None
        assert await one.list(query) is None


async def test_the_lines_are_those_of_the_decision() -> None:
    cache = a_world()
    world = World(cache, StartForecasts(), Turns())
    assert {name: list((await world.lines.get(name)).workloads) for name in world.line_names()} == {
        name: list(line) for name, line in lines(cache.snapshot()).items()
    }


async def test_a_page_goes_on_where_the_last_one_has_gone() -> None:
    cache = a_world()
    pending = resource(cache, "clusterqueues", "pendingworkloads")
    first = await page(pending, Query(name="team-a", limit=2))
    cache.drop_pod("a0")
    rest = await page(pending, Query(name="team-a", limit=5, after=first.end))
    assert names([*first.entries, *rest.entries]) == ["other/first", "default/a0", "default/a1", "default/a2"]
    fresh = resource(cache, "clusterqueues", "pendingworkloads")  # its line is without that pod
    rest = await page(fresh, Query(name="team-a", limit=5, after=first.end))
    assert names([*rest.entries]) == ["default/a1", "default/a2"]


async def test_one_that_waits_is_found_by_its_name() -> None:
    pending = resource(a_world(), "pendingworkloads")
    assert pending.get is not None
    found = await pending.get(Query(namespace="other", name="b"))
    assert found is not None
    assert isinstance(found.row, PendingWorkload)
    assert (found.row.target, found.row.reason, found.row.requests) == ("pod/b", "NeverFits", {"cpu": "2"})
    assert await pending.get(Query(namespace="default", name="b")) is None


def test_who_may_not_see_it_gets_place_and_reason() -> None:
    row = PendingWorkload("pod/a", "team-a", "main", 4, 2, 0, 1, {"cpu": "1"}, "jane", "", "QuotaExceeded", "a waits")
    entry = Entry("a", "default", row, frozenset({"default"}))
    redact = resource(a_world(), "pendingworkloads").redact
    assert redact is not None
    assert redact(entry, {"default"}) is entry
    hidden = redact(entry, set())
    assert (hidden.name, hidden.namespace) == (HIDDEN, HIDDEN)
    assert isinstance(hidden.row, PendingWorkload)
    assert (hidden.row.place, hidden.row.reason, hidden.row.requests) == (4, "QuotaExceeded", {"cpu": "1"})
    text = repr(hidden)
    assert not [word for word in ("default", "pod/a", "main", "jane", "a waits") if word in text]


async def test_queues_are_those_of_the_command_line() -> None:
    cache = a_world()
    of_cluster, of_local = resource(cache, "clusterqueues"), resource(cache, "localqueues")
    assert [one.row for one in await every(of_cluster, Query(limit=1))] == cluster_queues(cache.snapshot())
    assert [one.row for one in await every(of_local, Query(limit=2))] == local_queues(cache.snapshot())
    only = await every(of_local, Query(limit=9, namespace="other"))
    assert names(only) == ["other/main", "other/second"]
    with pytest.raises(Refused, match="list from the start") as caught:
        await page(of_local, Query(limit=9, after="other/gone"))
    assert caught.value.code == 410


async def test_a_queue_that_is_new_is_found_at_once() -> None:
    cache = a_world()
    of_cluster, of_local = resource(cache, "clusterqueues"), resource(cache, "localqueues")
    assert of_cluster.get is not None
    assert await of_cluster.get(Query(name="team-c")) is None
    await page(of_local, Query(limit=9))
    cache.set_cluster_queue("team-c", a_cluster_queue("team-c"))
    cache.set_local_queue(("default", "new"), a_local_queue("new", "team-c"))
    assert await of_cluster.get(Query(name="team-c")) is not None
    assert "default/new" in names(await every(of_local, Query(limit=9)))


async def test_local_queues_are_named_to_who_sees_all_namespaces() -> None:
    one = resource(a_world(), "clusterqueues")
    assert one.get is not None
    assert one.redact is not None
    entry = await one.get(Query(name="team-a"))
    assert entry is not None
    assert entry.names == {""}
    assert isinstance(entry.row, ClusterQueueRow)
    assert entry.row.local_queues == ("default/main", "other/main")
    hidden = one.redact(entry, set()).row
    assert isinstance(hidden, ClusterQueueRow)
    assert (hidden.local_queues, hidden.pending) == ((), 4)


POD_NAMES = [*ALL, "default/run"]


@pytest.mark.parametrize("limit", [1, 2, 6, 7, 100])
async def test_pods_are_those_of_the_command_line(limit: int) -> None:
    cache = a_world()
    of_pods, snapshot = resource(cache, "queuepods"), cache.snapshot()
    found = await every(of_pods, Query(limit=limit))
    assert names(found) == POD_NAMES
    assert [one.row for one in found] == pods(snapshot, Findings(cache.reasons.of))
    for namespace in ("default", "other", "nobody"):
        only = await every(of_pods, Query(limit=limit, namespace=namespace))
        assert [one.row for one in only] == pods(snapshot, Findings(cache.reasons.of), [namespace])


async def test_a_gang_is_paged_pod_by_pod() -> None:
    gang = Membership(GroupKey("default", "train"), 3)
    members = [a_pod(f"train-{number}", a_shape(cpu="6"), group=gang) for number in range(3)]
    cache = a_cache(*members, nodes=[a_node(cpu="64")])
    decided(cache)
    of_pods = resource(cache, "queuepods")
    assert len((await page(of_pods, Query(limit=2))).entries) == 2
    assert sorted(names(await every(of_pods, Query(limit=2)))) == [f"default/train-{number}" for number in range(3)]


async def test_what_is_admitted_while_pages_are_read_is_not_lost() -> None:
    cache = a_world()
    of_pods = resource(cache, "queuepods")
    first = await page(of_pods, Query(limit=2))
    cache.drop_pod("run")
    assert decided(cache).admits
    rest = await every(of_pods, Query(limit=2, after=first.end))
    assert {one.name for one in rest} >= {"a0", "a1", "a2", "b"}
    (state,) = {one.row.state for one in rest if isinstance(one.row, PodRow) and one.row.place == 0}
    assert state == "Reserved"


async def test_what_decides_the_order_is_that_of_the_command_line() -> None:
    cache = a_world()
    orders = resource(cache, "workloadorders")
    assert [one.row for one in await every(orders, Query(limit=2))] == order(cache.snapshot())
    only = await every(orders, Query(limit=2, namespace="other"))
    assert [one.row for one in only] == order(cache.snapshot(), ["other"])


@pytest.mark.parametrize("limit", [1, 9])
async def test_shares_are_those_of_the_command_line(limit: int) -> None:
    fair = FairSharing(past_usage=PastUsageRule(3600, by_namespace=False))
    queues = [a_cluster_queue("org", fair_sharing=fair), *(a_cluster_queue(name, parent="org") for name in ("a", "b"))]
    locals_ = [a_local_queue(name, "a") for name in ("x", "y")]
    cache = a_cache(a_released_pod("run", queue="x", cluster_queue="a"), queues=queues, locals_=locals_)
    decided(cache)
    of_shares = resource(cache, "queueshares")
    found = await every(of_shares, Query(limit=limit))
    assert [one.row for one in found] == shares(cache.snapshot())
    assert [one.name for one in found] == ["clusterqueue.a", "clusterqueue.b"] + [
        f"localqueue.default.{name}" for name in ("y", "x")
    ]


@pytest.mark.parametrize("plural", ["queuepods", "workloadorders"])
async def test_whose_rows_are_hidden_cannot_be_told(plural: str) -> None:
    one = resource(a_world(), plural)
    entry = next(it for it in await every(one, Query(limit=9)) if it.name == "a0")
    assert one.redact is not None
    assert one.redact(entry, {"default"}) is entry
    hidden = one.redact(entry, {"other"})
    assert hidden.names == frozenset()
    assert getattr(hidden.row, "place", 0) == getattr(entry.row, "place", 1) == 2
    assert not [word for word in ("default", "a0", "main") if word in repr(hidden)]


async def test_shares_of_local_queues_are_named_to_who_sees_them() -> None:
    fair = FairSharing(past_usage=PastUsageRule(3600, by_namespace=False))
    cache = a_cache(a_released_pod("run", cluster_queue="a"), queues=[a_cluster_queue("team-a", fair_sharing=fair)])
    decided(cache)
    of_shares = resource(cache, "queueshares")
    (entry,) = await every(of_shares, Query(limit=9))
    assert (entry.name, set(entry.names)) == ("localqueue.default.main", {"default"})
    assert of_shares.redact is not None
    hidden = of_shares.redact(entry, set())
    assert isinstance(hidden.row, ShareRow)
    assert (hidden.name, hidden.row.name, hidden.row.rank) == (HIDDEN, HIDDEN, 1)


async def explained(name: str, namespace: str = "default") -> tuple[Entry, ExplanationRow]:
    one = resource(a_world(), "explanations")
    assert one.get is not None
    entry = await one.get(Query(namespace=namespace, name=name))
    assert entry is not None
    assert isinstance(entry.row, ExplanationRow)
    return entry, entry.row


async def test_an_explanation_names_who_is_ahead_and_who_holds() -> None:
    entry, row = await explained("pod.a1")
    assert (row.place, row.place_in_local_queue, row.ahead) == (3, 2, ("other/first", "default/a0"))
    assert [one.name for held in row.holders for one in held.workloads] == ["default/run"]
    assert entry.names == {"", "default", "other"}


async def test_an_explanation_hides_names_of_others() -> None:
    entry, _ = await explained("pod.a1")
    redact = resource(a_world(), "explanations").redact
    assert redact is not None
    row = redact(entry, {"default"}).row
    assert isinstance(row, ExplanationRow)
    assert row.ahead == (HIDDEN, "default/a0")
    assert {one.name for held in row.holders for one in held.users} == {HIDDEN}
    assert [one.name for held in row.holders for one in held.workloads] == ["default/run"]
    assert "default/run" not in repr(redact(entry, {"other"}))


async def test_an_explanation_hides_when_others_end() -> None:
    entry, row = await explained("pod.a1")
    assert isinstance(entry.row, ExplanationRow)

    def ending(one: HolderRow) -> HolderRow:
        return structs.replace(one, ends="2026-11-27T22:00:00Z")

    held = tuple(
        structs.replace(
            one,
            queues=tuple(map(ending, one.queues)),
            users=tuple(map(ending, one.users)),
            workloads=tuple(map(ending, (*one.workloads, structs.replace(one.workloads[0], name="other/run")))),
        )
        for one in row.holders
    )
    known = replace(entry, row=structs.replace(row, holders=held))
    redact = resource(a_world(), "explanations").redact
    assert redact is not None
    hidden = redact(known, {"default"}).row
    assert isinstance(hidden, ExplanationRow)
    (one,) = hidden.holders
    assert [bool(it.ends) for it in (*one.queues, *one.users)] == [False, False]
    assert [(it.name, bool(it.ends)) for it in one.workloads] == [("default/run", True), (HIDDEN, False)]
    assert [(it.amount, it.pods) for it in (*one.queues, *one.users, *one.workloads)] == [("1", 1)] * 4
    whole = redact(known, {"", "default"}).row
    assert isinstance(whole, ExplanationRow)
    assert all(it.ends for it in (*whole.holders[0].queues, *whole.holders[0].users))


@pytest.mark.parametrize("name", ["group.train", "pod.train-0", "job.owner"])
async def test_a_gang_is_explained_by_any_of_its_names(name: str) -> None:
    owner, gang = Owner("batch/v1", "Job", "owner", "uid"), Membership(GroupKey("default", "train"), 2)
    members = [a_pod(f"train-{number}", a_shape(cpu="6"), group=gang, owner=owner) for number in range(2)]
    cache = a_cache(*members, nodes=[a_node(cpu="64")])
    decided(cache)
    one = resource(cache, "explanations")
    assert one.get is not None
    entry = await one.get(Query(namespace="default", name=name))
    assert entry is not None
    assert isinstance(entry.row, ExplanationRow)
    assert (entry.row.waiting, entry.row.pods, entry.row.requests) == (1, 2, {"cpu": "12"})


async def test_what_does_not_wait_is_told_as_it_stands() -> None:
    _, row = await explained("pod.run")
    assert (row.waiting, row.message.startswith("default/run ")) == (0, True)
    one = resource(a_world(), "explanations")
    assert one.get is not None
    assert [await one.get(Query(namespace="other", name=name)) for name in ("pod.run", "pod", "job.b")] == [None] * 3


async def test_reading_changes_nothing_for_the_next_decision() -> None:
    read, left_alone = a_world(), a_world()
    for one in served(read).all:
        if one.list is not None and not one.subresource:
            await every(one, Query(limit=2))
    for cache in (read, left_alone):
        cache.drop_pod("run")
    assert decided(read) == decided(left_alone)

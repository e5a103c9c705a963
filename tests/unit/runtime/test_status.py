from __future__ import annotations

import asyncio
from typing import Any

import pytest

from controller.cache.written import Written
from controller.core.kubernetes.directives import Directives
from controller.core.kubernetes.labels import LabelSelector
from controller.core.pod_policies.policies import Mode, Policy, Target
from controller.kube.errors import Forbidden, NotFound
from controller.objects.read import Entry
from controller.runtime.local_queue_status import local_queue_status
from controller.runtime.queue_status import cluster_queue_status
from controller.runtime.status import (
    flavor_status,
    policy_status,
    scheduling_policy_status,
)
from controller.runtime.status_lane import StatusLane
from controller.telemetry.metrics import ControllerMetrics
from tests.support.builders import (
    HOLD,
    MAIN,
    a_cache,
    a_cluster_queue,
    a_flavor,
    a_foreign_pod,
    a_local_queue,
    a_node,
    a_pod,
    a_quota,
    a_released_pod,
    a_requirement,
    a_shape,
    a_static_flavor,
)
from tests.support.fake_client import FakeClient
from tests.support.fake_time import FakeTime
from tests.support.loop_work import watched

NOW = 1_772_352_000.0
AT = "2026-03-01T08:00:00Z"
ELSEWHERE = LabelSelector((a_requirement("team In x"),))


def an_entry(key: tuple[str, str] = ("", "team-a"), **fields: Any) -> Entry:
    return Entry(**{"key": key, "uid": "u", "generation": 3, "status": {}, **fields})


def active(status: dict[str, Any]) -> tuple[str, str, str]:
    condition = status["conditions"][0]
    assert (condition["type"], condition["observedGeneration"], condition["lastTransitionTime"]) == ("Active", 3, AT)
    return condition["status"], condition["reason"], condition["message"]


@pytest.mark.parametrize(
    ("queue", "fault", "expected"),
    [
        (a_cluster_queue(), None, ("True", "Ready", "Can admit workloads")),
        (None, "spec.flavors: bad", ("False", "Invalid", "spec.flavors: bad")),
        (None, None, ("False", "Invalid", "the object cannot be read")),
        (
            a_cluster_queue("team-a", a_quota("no"), a_quota("spot"), a_quota("none")),
            None,
            ("False", "FlavorNotFound", "spec.flavors names no, none, which does not exist or is invalid"),
        ),
        (
            a_cluster_queue(stop=HOLD),
            None,
            ("False", "Stopped", "spec.stopPolicy is Hold: nothing is admitted"),
        ),
        (
            a_cluster_queue(namespaces=None),
            None,
            (
                "False",
                "NoNamespaceSelected",
                "spec.namespaceSelector is not set, so no namespace may use this queue; {} selects all",
            ),
        ),
    ],
)
def test_a_cluster_queue_says_whether_it_admits(queue: Any, fault: str | None, expected: tuple[str, str, str]) -> None:
    cache = a_cache(queues=[queue] if queue else [])
    assert active(cluster_queue_status(cache, an_entry(fault=fault), NOW)) == expected


@pytest.mark.parametrize(
    ("door", "queue", "faults", "expected"),
    [
        (a_local_queue(), a_cluster_queue(), {}, ("True", "Ready", "Can submit workloads")),
        (None, a_cluster_queue(), {}, ("False", "Invalid", "the object cannot be read")),
        (
            a_local_queue(),
            None,
            {},
            ("False", "ClusterQueueNotUsable", "ClusterQueue team-a of LocalQueue main does not exist"),
        ),
        (
            a_local_queue(),
            None,
            {"team-a": "bad"},
            ("False", "ClusterQueueNotUsable", "ClusterQueue team-a cannot be used as written: bad"),
        ),
        (
            a_local_queue(stop=HOLD),
            a_cluster_queue(stop=HOLD),
            {},
            ("False", "Stopped", "spec.stopPolicy is Hold: nothing is admitted"),
        ),
        (
            a_local_queue(),
            a_cluster_queue(namespaces=ELSEWHERE),
            {},
            (
                "False",
                "NamespaceNotSelected",
                "the namespaceSelector of ClusterQueue team-a does not select namespace default",
            ),
        ),
        (
            a_local_queue(),
            a_cluster_queue(stop=HOLD),
            {},
            ("False", "ClusterQueueStopped", "ClusterQueue team-a has stopPolicy Hold"),
        ),
    ],
)
def test_a_local_queue_says_whether_it_leads_anywhere(
    door: Any, queue: Any, faults: dict[str, str], expected: tuple[str, str, str]
) -> None:
    cache = a_cache(queues=[queue] if queue else [], locals_=[door] if door else [])
    for name, fault in faults.items():
        cache.set_cluster_queue(name, None, fault=fault)
    assert active(local_queue_status(cache, an_entry(MAIN), NOW)) == expected


USED = {"name": "cpu", "total": "2", "quota": "8", "borrowed": "0"}


def test_queues_count_what_waits_is_reserved_and_runs() -> None:
    pods = [a_pod("q1"), a_pod("q2"), a_released_pod("r"), a_released_pod("n", node="node-1")]
    cache = a_cache(*pods, a_pod("side", queue="side"), locals_=[a_local_queue(), a_local_queue("side")])
    status = cluster_queue_status(cache, an_entry(), NOW)
    assert (status["pending"], status["reserved"], status["running"]) == (3, 1, 1)
    assert status["flavorsUsage"] == [{"name": "spot", "resources": [USED]}]
    local = local_queue_status(cache, an_entry(MAIN), NOW)
    assert (local["pending"], local["reserved"], local["running"]) == (2, 1, 1)


def test_a_queue_says_which_quotas_its_pods_now_exceed() -> None:
    queue = a_cluster_queue("team-a", a_quota("spot", cpu="4", memory="1Gi"), a_quota("dear", cpu="1"))
    pods = [a_released_pod("a", a_shape(cpu="4")), a_released_pod("b", a_shape(cpu="1"), flavor="dear")]
    cache = a_cache(*pods, queues=[queue], flavors=[a_flavor("spot"), a_flavor("dear")])
    assert [one["type"] for one in cluster_queue_status(cache, an_entry(), NOW)["conditions"]] == ["Active"]
    cache.put_pod(a_released_pod("a", a_shape(cpu="6500m", memory="2Gi"), resource_version="3"))
    condition = cluster_queue_status(cache, an_entry(), NOW)["conditions"][1]
    assert (condition["type"], condition["status"], condition["reason"]) == ("OverQuota", "True", "UsageAboveQuota")
    assert condition["message"] == (
        "more is used than the queue may use: flavor spot: 6500m of 4 cpu, flavor spot: 2Gi of 1Gi memory; "
        "nothing is taken back, nothing more admitted"
    )


def test_a_flavor_sums_its_nodes_and_what_pods_take() -> None:
    nodes = [a_node("node-1"), a_node("node-2", is_usable=False), a_node("other", labels={})]
    cache = a_cache(a_released_pod("a", node="node-1"), a_foreign_pod(node="node-2"), nodes=nodes)
    status = flavor_status(cache, an_entry(("", "spot")), NOW)
    assert active(status) == ("True", "Ready", "Can be used")
    assert status["nodes"] == 2
    assert status["allocatable"] == {"cpu": "8", "pods": "220"}
    assert status["used"] == {"cpu": "2", "pods": "2"}
    assert status["free"] == {"cpu": "6", "pods": "218"}
    assert status["columns"] == {"used": "cpu 2/8"}


def test_a_static_flavor_shows_its_sum_and_nothing_below_zero() -> None:
    cache = a_cache(a_released_pod("a", flavor="licence"), flavors=[a_static_flavor(cpu="500m")])
    status = flavor_status(cache, an_entry(("", "licence")), NOW)
    shown = {name: status[name] for name in ("nodes", "allocatable", "used", "free")}
    assert shown == {"nodes": 0, "allocatable": {"cpu": "500m"}, "used": {"cpu": "1"}, "free": {"cpu": "0"}}
    assert active(status) == ("True", "Ready", "Can be used")


def test_overlapping_flavors_say_so_both() -> None:
    cache = a_cache(flavors=[a_flavor("spot"), a_flavor("all", labels={})])
    for name, other in (("spot", "all"), ("all", "spot")):
        condition = flavor_status(cache, an_entry(("", name)), NOW)["conditions"][1]
        assert (condition["type"], condition["reason"]) == ("FlavorsOverlap", "SameNodes")
        assert f"also selected by {other};" in condition["message"]


def test_an_invalid_flavor_says_what_is_wrong() -> None:
    status = flavor_status(a_cache(flavors=[]), an_entry(("", "spot"), fault="spec: bad"), NOW)
    assert (active(status), status["nodes"]) == (("False", "Invalid", "spec: bad"), 0)


def a_policy(namespace: str = "", **fields: Any) -> Policy:
    filled = {"pods": LabelSelector(), "namespaces": None if namespace else LabelSelector(), **fields}
    return Policy(name="p", namespace=namespace, **filled)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (a_policy(), ("True", "Ready", "Changes new pods that it selects")),
        (
            a_policy("default", target=Target.POD_TEMPLATES, mode=Mode.AUDIT),
            ("True", "Ready", "Writes to the audit log about templates, when they are written, that it selects"),
        ),
        (a_policy(mode=Mode.WARN), ("True", "Ready", "Warns whoever creates new pods that it selects")),
        (None, ("False", "Invalid", "spec.mode: bad")),
        (
            a_policy("default", pods=None),
            (
                "False",
                "NothingSelected",
                "spec.podSelector is not set, so the policy selects nothing; {} selects everything",
            ),
        ),
        (
            a_policy(namespaces=None),
            (
                "False",
                "NothingSelected",
                "spec.namespaceSelector is not set, so the policy selects nothing; {} selects everything",
            ),
        ),
        (
            a_policy(directives=Directives(node_selector=(("a", "1"), ("a", "2")))),
            (
                "False",
                "Contradictory",
                "the policy's own parts rule each other out, so some of it is given to no pod: "
                "spec.nodeSelector[a] is '1', not '2'",
            ),
        ),
    ],
)
def test_a_policy_says_whether_it_works_as_written(policy: Policy | None, expected: tuple[str, str, str]) -> None:
    cache = a_cache()
    key = (policy.namespace if policy is not None else "default", "p")
    cache.policies.put(key, policy)
    assert active(policy_status(cache, an_entry(key, fault="spec.mode: bad"), NOW)) == expected


def test_a_policy_counts_its_pods_until_they_are_gone() -> None:
    both, one = ("p", "default/p"), ("p",)
    cache = a_cache(a_pod("a", policies=both), a_foreign_pod("b", policies=one), a_pod("c", is_finished=True))
    counts = [policy_status(cache, an_entry(key), NOW)["pods"] for key in (("", "p"), ("default", "p"), ("x", "p"))]
    assert counts == [2, 1, 0]
    cache.put_pod(a_pod("c", policies=one, resource_version="2"))
    cache.drop_pod("a")
    counts = [policy_status(cache, an_entry(key), NOW)["pods"] for key in (("", "p"), ("default", "p"))]
    assert counts == [2, 0]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (Mode.ENFORCE, ("True", "Ready", "Changes and refuses pods of accounts that may use it")),
        (Mode.WARN, ("True", "Ready", "Warns whoever creates pods of accounts that may use it")),
        (Mode.AUDIT, ("True", "Ready", "Writes to the audit log about pods of accounts that may use it")),
        (None, ("False", "Invalid", "spec.allowed: bad")),
    ],
)
def test_a_scheduling_policy_says_whether_it_is_valid(mode: Mode | None, expected: tuple[str, str, str]) -> None:
    cache = a_cache()
    cache.policies.put_scheduling("p", Mode.ENFORCE)
    cache.policies.put_scheduling("p", mode)
    entry = an_entry(("", "p"), fault=None if mode else "spec.allowed: bad")
    assert active(scheduling_policy_status(cache, entry, NOW)) == expected


def test_a_scheduling_policy_counts_no_pods_of_its_namesake() -> None:
    cache = a_cache(a_pod("a", policies=("p", "SchedulingPolicy/p")), a_pod("b", policies=("p",)))
    entry = an_entry(("", "p"))
    assert (scheduling_policy_status(cache, entry, NOW)["pods"], policy_status(cache, entry, NOW)["pods"]) == (1, 2)


@pytest.mark.parametrize(("standing", "since"), [("True", "2020-01-01T00:00:00Z"), ("False", AT)])
def test_a_condition_keeps_its_time_while_its_status_stays(standing: str, since: str) -> None:
    former = {"type": "Active", "status": standing, "lastTransitionTime": "2020-01-01T00:00:00Z"}
    status = cluster_queue_status(a_cache(), an_entry(status={"conditions": [former, "junk"]}), NOW)
    assert status["conditions"][0]["lastTransitionTime"] == since


class Lane:
    """A status lane that is stepped by hand, by a clock that is right unless `ahead`."""

    def __init__(self, written: Written, client: FakeClient, time: FakeTime) -> None:
        self._time = time
        self._lane = StatusLane(client.as_client, a_cache(), written, ControllerMetrics(), instance="test")
        self.client = client

    async def round(self, at: float, *, ahead: float = 0.0) -> list[str]:
        before = len(self.client.calls)
        self._time.now = at
        await self._lane.round(at + ahead)
        return [call.path for call in self.client.calls[before:]]


async def test_statuses_are_written_every_two_seconds_at_most(time: FakeTime) -> None:
    written = Written(
        cluster_queues={("", "team-a"): an_entry()},
        local_queues={MAIN: an_entry(MAIN)},
        flavors={("", "spot"): an_entry(("", "spot"))},
        priority_classes={("", "c"): an_entry(("", "c"))},
        policies={MAIN: an_entry(MAIN)},
        cluster_policies={("", "p"): an_entry(("", "p"))},
        scheduling_policies={("", "s"): an_entry(("", "s"))},
    )
    answers = (b"{}", NotFound(404, "", ""), Forbidden(403, "", ""), b"{}", b"{}", b"{}", b"{}", b"{}")
    lane = Lane(written, FakeClient().will("PATCH", *answers), time)
    base = "/apis/penstock.dev/v1alpha1"
    assert await lane.round(NOW) == [
        f"{base}/clusterqueues/team-a/status",
        f"{base}/namespaces/default/localqueues/main/status",
        f"{base}/resourceflavors/spot/status",
        f"{base}/workloadpriorityclasses/c/status",
        f"{base}/clusterpodschedulingpolicies/p/status",
        f"{base}/namespaces/default/podschedulingpolicies/main/status",
        f"{base}/schedulingpolicies/s/status",
    ]
    assert await lane.round(NOW + 1) == []
    for entries in (
        *(written.local_queues, written.flavors, written.policies, written.cluster_policies),
        *(written.scheduling_policies, written.priority_classes),
    ):
        entries.clear()
    assert await lane.round(NOW + 2) == [f"{base}/clusterqueues/team-a/status"]
    body = lane.client.calls[0].body
    written.cluster_queues[("", "team-a")] = an_entry(status={**body["status"], "unknown": 1})
    assert await lane.round(NOW + 9) == []


async def test_statuses_are_written_while_the_clock_is_behind(time: FakeTime) -> None:
    written = Written(cluster_queues={("", "team-a"): an_entry()})
    lane = Lane(written, FakeClient().will("PATCH", *[b"{}"] * 3), time)
    at_each = [await lane.round(NOW + second, ahead=-1800.0 * (second > 0)) for second in (0, 1, 2, 3, 4)]
    assert [len(paths) for paths in at_each] == [1, 0, 1, 0, 1]
    condition = lane.client.calls[-1].body["status"]["conditions"][0]
    assert condition["lastTransitionTime"] == "2026-03-01T07:30:04Z"


async def test_a_resource_gone_from_the_nodes_leaves_the_status(time: FakeTime) -> None:
    standing = {"allocatable": {"cpu": "9", "gone": "1"}, "used": None}
    written = Written(flavors={("", "spot"): an_entry(("", "spot"), status=standing)})
    lane = Lane(written, FakeClient().will("PATCH", b"{}"), time)
    await lane.round(NOW)
    status = lane.client.calls[0].body["status"]
    assert status["allocatable"] == {"cpu": "4", "pods": "110", "gone": None}
    assert status["used"] == {"cpu": "0", "pods": "0"}


async def test_a_round_writes_ten_and_the_longest_unwritten_first(time: FakeTime) -> None:
    queues = {("", f"q{n:02}"): an_entry(("", f"q{n:02}")) for n in range(15)}
    lane = Lane(Written(cluster_queues=queues), FakeClient().will("PATCH", *[b"{}"] * 30), time)
    first = await lane.round(NOW)
    second = await lane.round(NOW + 5)
    assert (len(first), len(second)) == (10, 10)
    assert {path.split("/")[-2] for path in second[:5]} == {f"q{n}" for n in range(10, 15)}


def test_a_release_in_doubt_for_over_a_minute_is_said() -> None:
    pods = [a_pod(name) for name in "ab"]
    cache = a_cache(*pods)
    cache.doubts.begin(pods[0], "team-a", NOW - 61)
    cache.doubts.begin(pods[1], "team-a", NOW - 59)
    *_, doubt = cluster_queue_status(cache, an_entry(), NOW)["conditions"]
    assert (doubt["type"], doubt["status"], doubt["reason"]) == ("ReleasesInDoubt", "True", "NoAnswer")
    assert doubt["message"].endswith("since 2026-03-01T07:58:59Z, and their quota stays taken: default/a")
    cache.doubts.end(pods[0])
    assert [one["type"] for one in cluster_queue_status(cache, an_entry(), NOW)["conditions"]] == ["Active"]


@pytest.mark.parametrize("settles", [False, True])
async def test_a_turn_of_the_statuses_costs_the_same_however_many(
    time: FakeTime, monkeypatch: pytest.MonkeyPatch, *, settles: bool
) -> None:
    longest = []
    for count in (100, 400):
        written = Written()
        names = [f"q{n:03}" for n in range(count)]
        written.cluster_queues.update({("", name): an_entry(("", name)) for name in names})
        written.local_queues.update({("default", name): an_entry(("default", name)) for name in names})
        locals_ = [a_local_queue(name, name) for name in names]
        pods = [a_pod(f"p{n}", a_shape(cpu=f"{n + 1}"), queue=names[0]) for n in range(count)]
        cache = a_cache(*pods, queues=[a_cluster_queue(name) for name in names], locals_=locals_)
        cache.advance(time.now)
        cache.snapshot()
        client = FakeClient().will("PATCH", *[b"{}"] * 10)
        lane = StatusLane(client.as_client, cache, written, ControllerMetrics(), instance="test")
        with watched(monkeypatch) as work:
            async with asyncio.TaskGroup() as group:
                group.create_task(lane.settle(time.now) if settles else lane.round(time.now), name="statuses")
        longest.append(work.longest)
    assert longest[1] <= longest[0] * 1.2

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from controller.cache.cluster import ClusterCache
from controller.cache.sinks import (
    ObjectSink,
    cluster_queue_sink,
    flavor_sink,
    local_queue_sink,
    policy_sinks,
    scheduling_policy_sink,
)
from controller.cache.written import Written
from controller.core.keys import HELD
from controller.core.kubernetes.labels import LabelSelector
from controller.core.kubernetes.taints import Toleration
from controller.core.pod_policies.policies import Mode
from controller.kube.errors import UnreadableObject
from controller.kube.wire import Owned
from controller.objects.read import (
    Read,
    read_cluster_pod_policy,
    read_cluster_queue,
    read_flavor,
    read_local_queue,
    read_pod_policy,
    read_scheduling_policy,
)
from tests.support import api_objects
from tests.support.builders import (
    HOLD,
    STRICT,
    a_cluster_queue,
    a_flavor,
    a_local_queue,
    a_quota,
    a_requirement,
    a_static_flavor,
)
from tests.support.pod_documents import raw
from tests.support.zones import utc

Json = dict[str, Any]
A_IS_2 = api_objects.requirement("In", "2", key="a")


def with_metadata(document: Json, **metadata: Any) -> Json:
    return {**document, "metadata": {"uid": "u", "generation": 1, **document["metadata"], **metadata}}


def a_read_queue(generation: int = 1, uid: str = "u", **spec: Any) -> Read:
    document = with_metadata(api_objects.cluster_queue(**spec), generation=generation, uid=uid)
    return read_cluster_queue(Raw(raw(document)))


class Kept:
    """A cache with the sinks of our own kinds, and how often a decision was asked for."""

    def __init__(self) -> None:
        self.woken = 0
        self.cache = ClusterCache(self._wake)
        self.written = Written()
        self.queues: ObjectSink = cluster_queue_sink(self.cache, self.written)
        self.flavors: ObjectSink = flavor_sink(self.cache, self.written)
        self.doors: ObjectSink = local_queue_sink(self.cache, self.written)
        self.wide, self.own = policy_sinks(self.cache, self.written)
        self.scheduling: ObjectSink = scheduling_policy_sink(self.cache, self.written)

    def _wake(self) -> None:
        self.woken += 1


def test_a_flavor_is_taken_in_as_the_decision_reads_it() -> None:
    kept = Kept()
    spec = {
        "nodeLabels": {"pool": "spot"},
        "nodeRequirements": [api_objects.requirement("In", "a", "b", key="zone")],
        "tolerations": [{"key": "spot", "operator": "Exists"}, {"key": "a", "value": "b"}],
    }
    kept.flavors.upsert(read_flavor(Raw(raw(api_objects.resource_flavor("spot", **spec)))))
    tolerations = [Toleration("spot", "Exists"), Toleration("a", "Equal", "b")]
    assert kept.cache.flavors == {"spot": a_flavor("spot", requirements=["zone In a,b"], tolerations=tolerations)}


def test_an_autoscaled_flavor_has_times_unless_it_says_others() -> None:
    kept = Kept()
    for name, times in (("plain", {}), ("hasty", {"provisionTimeout": "5m", "coolDown": "1h"})):
        capacity = {"mode": "Autoscaled", "max": {"cpu": 8}, **times}
        kept.flavors.upsert(read_flavor(Raw(raw(api_objects.resource_flavor(name, capacity=capacity)))))
    found = kept.cache.flavors.values()
    assert [(f.sums, f.provision_timeout, f.cool_down) for f in found] == [
        ({"cpu": 8000}, 900, 1800),
        ({"cpu": 8000}, 300, 3600),
    ]


def test_a_static_flavor_is_rounded_down() -> None:
    kept = Kept()
    capacity = {"mode": "Static", "static": {"cpu": "1.0009", "example.com/licence": "3"}}
    kept.flavors.upsert(read_flavor(Raw(raw(api_objects.resource_flavor("licence", capacity=capacity)))))
    expected = a_static_flavor("licence", cpu="1", **{"example.com/licence": "3"})  # type: ignore[arg-type]
    assert kept.cache.flavors == {"licence": expected}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, a_cluster_queue(namespaces=None)),
        ({"namespaceSelector": None}, a_cluster_queue(namespaces=None)),
        ({"namespaceSelector": {}}, a_cluster_queue()),
        (
            {
                "namespaceSelector": {
                    "matchLabels": {"team": "a"},
                    "matchExpressions": [api_objects.requirement("NotIn", "prod", key="env")],
                }
            },
            a_cluster_queue(namespaces=LabelSelector((a_requirement("team In a"), a_requirement("env NotIn prod")))),
        ),
        (
            {"namespaceSelector": {}, "queueingStrategy": "StrictFIFO", "stopPolicy": "Hold"},
            a_cluster_queue(strategy=STRICT, stop=HOLD),
        ),
        (
            {
                "namespaceSelector": {},
                "flavors": [api_objects.quotas("b", cpu="1.0009"), api_objects.quotas("a", cpu=2)],
            },
            a_cluster_queue("team-a", a_quota("b", cpu="1"), a_quota("a", cpu="2")),
        ),
    ],
)
def test_a_cluster_queue_is_taken_in_as_the_decision_reads_it(spec: Json, expected: Any) -> None:
    kept = Kept()
    kept.queues.upsert(a_read_queue(**spec))
    assert kept.cache.cluster_queues == {"team-a": expected}


def test_what_of_a_cluster_queue_changes_by_itself_is_taken_in() -> None:
    kept = Kept()
    kept.flavors.upsert(read_flavor(Raw(raw(static_spot("10.001")))))
    night = api_objects.a_window(flavors=[api_objects.quotas(cpu="100%", memory="1Gi")], timeZone="Asia/Kolkata")
    held = {"name": "held", "start": "0 12 * * *", "duration": "1h", "stopPolicy": "Hold"}
    kept.queues.upsert(a_read_queue(flavors=[api_objects.quotas(cpu="12.5%", memory=7)], schedule=[night, held]))

    def at(text: str) -> tuple[dict[str, int], str]:
        kept.cache.advance(utc(text))
        queue = kept.cache.cluster_queues["team-a"]
        return dict(queue.flavors[0].nominal), queue.stop.value

    assert at("2026-03-04 14:29") == ({"cpu": 1250, "memory": 7}, "None")
    assert at("2026-03-04 14:30") == ({"cpu": 10_001, "memory": 2**30}, "None")
    assert at("2026-03-04 22:30") == ({"cpu": 1250, "memory": 7}, "None")
    assert at("2026-03-05 12:59") == ({"cpu": 1250, "memory": 7}, "Hold")


def static_spot(cpu: str) -> Json:
    return api_objects.resource_flavor("spot", capacity={"mode": "Static", "static": {"cpu": cpu}})


def test_a_local_queue_is_taken_in_as_the_decision_reads_it() -> None:
    kept = Kept()
    kept.doors.upsert(read_local_queue(Raw(raw(api_objects.local_queue(stopPolicy="Hold")))))
    assert kept.cache.local_queues == {("default", "main"): a_local_queue(stop=HOLD)}


def test_who_stopped_a_queue_is_known() -> None:
    kept = Kept()
    for held, stop, note in (("jane", "Hold", "jane"), ("jane: audit", "Hold", "jane: audit"), ("jane", "None", "")):
        for written in (api_objects.local_queue(stopPolicy=stop), api_objects.cluster_queue(stopPolicy=stop)):
            written["metadata"] |= {"generation": 1 + (stop == "None"), "annotations": {HELD: held}}
            if written["kind"] == "LocalQueue":
                kept.doors.upsert(read_local_queue(Raw(raw(written))))
            else:
                kept.queues.upsert(read_cluster_queue(Raw(raw(written))))
        assert kept.cache.local_queues["default", "main"].stop_note == note
        assert kept.cache.cluster_queues["team-a"].stop_note == note


def test_a_faulty_object_keeps_its_fault_until_corrected() -> None:
    kept = Kept()
    kept.queues.upsert(a_read_queue(flavors=None))
    assert kept.cache.cluster_queues == {}
    assert "spec.flavors" in kept.cache.faulty_queues["team-a"]
    assert kept.written.cluster_queues[("", "team-a")].fault == kept.cache.faulty_queues["team-a"]
    kept.queues.upsert(a_read_queue(generation=2))
    assert (set(kept.cache.cluster_queues), kept.cache.faulty_queues) == ({"team-a"}, {})


def test_an_object_that_turns_faulty_is_used_no_longer() -> None:
    kept = Kept()
    kept.queues.upsert(a_read_queue())
    kept.queues.upsert(a_read_queue(generation=2, stopPolicy="Maybe"))
    assert (kept.cache.cluster_queues, set(kept.cache.faulty_queues)) == ({}, {"team-a"})


def test_a_faulty_status_does_not_make_the_object_faulty() -> None:
    document = {**with_metadata(api_objects.cluster_queue()), "status": {"pending": "many"}}
    read = read_cluster_queue(Raw(raw(document)))
    assert (read.entry.fault, read.entry.status, read.model is not None) == (None, {"pending": "many"}, True)


def test_a_change_of_status_alone_wakes_nobody() -> None:
    kept = Kept()
    kept.queues.upsert(a_read_queue())
    woken = kept.woken
    kept.queues.upsert(a_read_queue())
    assert kept.woken == woken
    kept.queues.upsert(a_read_queue(uid="made-anew"))
    assert kept.woken > woken


def test_policies_are_kept_for_status_and_wake_nobody() -> None:
    kept = Kept()
    contradictory: Json = {
        "nodeSelector": {"a": "1"},
        "affinity": api_objects.node_terms({"matchExpressions": [A_IS_2]}),
    }
    kept.wide.upsert(read_cluster_pod_policy(Raw(raw(with_metadata(api_objects.cluster_pod_policy("x"))))))
    kept.own.upsert(read_pod_policy(Raw(raw(with_metadata(api_objects.pod_policy("x", **contradictory))))))
    kept.own.upsert(read_pod_policy(Raw(raw(with_metadata(api_objects.pod_policy("y", mode="Maybe"))))))
    found = {key: bool(known.contradictions) for key, known in kept.cache.policies.known.items()}
    assert found == {("", "x"): False, ("default", "x"): True}
    assert (set(kept.written.cluster_policies), set(kept.written.policies)) == (
        {("", "x")},
        {("default", "x"), ("default", "y")},
    )
    assert "spec.mode" in (kept.written.policies[("default", "y")].fault or "")
    list(kept.own.replace([]))
    list(kept.wide.replace([]))
    assert (kept.cache.policies.known, kept.written.policies, kept.woken) == ({}, {}, 0)


def test_what_is_removed_or_not_in_a_list_is_gone() -> None:
    kept = Kept()
    kept.queues.upsert(a_read_queue())
    list(kept.queues.replace([]))
    assert (kept.cache.cluster_queues, kept.written.cluster_queues) == ({}, {})
    list(kept.queues.replace([a_read_queue()]))
    kept.queues.remove(Owned(name="team-a"))
    assert (kept.cache.cluster_queues, kept.cache.faulty_queues) == ({}, {})


@pytest.mark.parametrize("document", [None, 5, [], {}, {"metadata": None}, {"metadata": {}}])
def test_an_object_without_a_name_is_unreadable(document: object) -> None:
    for read in (read_flavor, read_cluster_queue, read_local_queue, read_pod_policy, read_cluster_pod_policy):
        with pytest.raises(UnreadableObject, match=r"^(an object without metadata\.name|object: )"):
            read(Raw(raw(document)))


def test_scheduling_policies_are_kept_by_mode_and_fault() -> None:
    kept = Kept()

    def read(generation: int, **spec: Any) -> Read:
        document = with_metadata(api_objects.scheduling_policy("p", **spec), generation=generation)
        return read_scheduling_policy(Raw(raw(document)))

    kept.scheduling.upsert(read(1, mode="Warn"))
    assert (kept.cache.policies.scheduling, kept.woken) == ({"p": Mode.WARN}, 0)
    spot = {"keys": ["spot"], "operators": ["Exists"], "effects": []}
    default = {"tolerations": [{"key": "gpu", "operator": "Exists"}]}
    kept.scheduling.upsert(read(2, allowed={"tolerations": [spot]}, default=default))
    assert kept.cache.policies.scheduling == {}
    fault = kept.written.scheduling_policies["", "p"].fault
    assert (fault or "").startswith("spec.default.tolerations is gpu, allowed is key spot, operator Exists, any effect")
    kept.scheduling.upsert(read(3))
    kept.scheduling.remove(Owned(name="p"))
    assert (kept.cache.policies.scheduling, kept.written.scheduling_policies) == ({}, {})

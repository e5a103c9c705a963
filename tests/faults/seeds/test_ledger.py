"""Each rule finds what breaks it: on histories that are written here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from controller.core.keys import ADMITTED_AT, ADMITTED_BY, CLUSTER_QUEUE, FLAVOR, GATE, QUEUE_NAME
from tests.faults.seeds.history import Event, History
from tests.faults.seeds.ledger import Ledger
from tests.faults.seeds.script import SECONDS, draw
from tests.faults.seeds.world import SHARES, draw_work

Json = dict[str, Any]
TEAM = "t1"


class Told:
    """A history that grows by what is told."""

    def __init__(self) -> None:
        self.history = History()
        self.ledger = Ledger(self.history, TEAM)
        self._version = 0
        self.tell("leases", {"metadata": {"name": "penstock-controller"}, "spec": {"holderIdentity": "one"}})

    def tell(self, collection: str, thing: Json, kind: str = "MODIFIED", at: float | None = None) -> None:
        self._version += 1
        thing["metadata"].setdefault("uid", thing["metadata"]["name"])
        copy = orjson.loads(orjson.dumps(thing))
        self.history.events[collection].append(Event(kind, self._version, at or self._version, copy, b""))

    def waits(self, name: str, cpu: int = 1, *, queue: str = "fifo", second: int = 0) -> Json:
        pod: Json = {
            "metadata": {
                "name": name,
                "namespace": TEAM,
                "labels": {QUEUE_NAME: queue},
                "annotations": {"example.com/mark": name},
                "creationTimestamp": f"2026-11-28T10:00:{second:02}Z",
            },
            "spec": {
                "schedulingGates": [{"name": GATE}],
                "containers": [{"resources": {"requests": {"cpu": str(cpu)}}}],
            },
            "status": {},
        }
        self.tell("pods", pod, "ADDED")
        return pod

    def released(self, pod: Json, by: str = "one", flavor: str = "spot") -> None:
        queue = pod["metadata"]["labels"][QUEUE_NAME]
        pod["metadata"]["labels"] |= {CLUSTER_QUEUE: f"{TEAM}-{queue}", FLAVOR: f"{TEAM}-{flavor}"}
        pod["metadata"]["annotations"] |= {ADMITTED_AT: "now", ADMITTED_BY: by}
        pod["spec"]["schedulingGates"] = []
        self.tell("pods", pod)

    def ended(self, pod: Json) -> None:
        pod["status"] = {"phase": "Succeeded"}
        self.tell("pods", pod)

    def job(self, count: int) -> Json:
        labels = {CLUSTER_QUEUE: f"{TEAM}-back", FLAVOR: f"{TEAM}-spot"}
        template = {"spec": {"containers": [{"resources": {"requests": {"cpu": "1"}}}]}}
        spec = {"suspend": True, "completions": count, "template": template}
        job = {"metadata": {"name": "job", "namespace": TEAM, "labels": labels}, "spec": spec}
        self.tell("jobs", job, "ADDED")
        return job


def excesses(told: Told) -> list[str]:
    return list(told.ledger.excesses(SHARES))


def test_quotas_count_from_the_release_to_the_end() -> None:
    told = Told()
    pods = [told.waits(f"pod-{number}", 2) for number in range(4)]
    for pod in pods[:3]:
        told.released(pod)
    assert excesses(told) == []
    told.ended(pods[0])
    told.released(pods[3])
    assert excesses(told) == []
    told.released(told.waits("more"))
    assert excesses(told) == ["spot: more of fifo: fifo uses 7 of 6"]
    assert list(told.ledger.excesses(SHARES, since=100)) == []


def test_a_job_counts_while_it_is_not_suspended() -> None:
    told = Told()
    job = told.job(2)
    told.tell("jobs", {**job, "spec": {**job["spec"], "suspend": False}})
    assert excesses(told) == []
    other = told.waits("other", queue="back")
    told.released(other)
    assert excesses(told) == ["spot: other of back: back uses 3 of 2"]
    told.ended(other)
    told.tell("jobs", job)
    last = told.waits("last", 2, queue="back")
    told.released(last)
    assert excesses(told) == ["spot: other of back: back uses 3 of 2"]


def test_a_jobs_pod_that_is_done_counts_no_more() -> None:
    told = Told()
    job = told.job(2)
    told.tell("jobs", {**job, "spec": {**job["spec"], "suspend": False}})
    pod = told.waits("of-job", queue="none")
    pod["metadata"]["ownerReferences"] = [{"kind": "Job", "uid": "job"}]
    told.tell("pods", pod)
    told.history.events["pods"][0] = told.history.events["pods"][1]
    told.ended(pod)
    told.released(told.waits("other", queue="back"))
    assert excesses(told) == []


SPOIL: dict[str, tuple[Callable[[Json], object], str]] = {
    "stamp": (
        lambda pod: pod["metadata"]["annotations"].pop(ADMITTED_AT),
        f"pod was released without ['{ADMITTED_AT}']",
    ),
    "leader": (
        lambda pod: pod["metadata"]["annotations"].update({ADMITTED_BY: "two"}),
        "pod was released by two, who did not lead",
    ),
    "note": (
        lambda pod: pod["metadata"]["annotations"].pop("example.com/mark"),
        "pod: its release changed what is not ours",
    ),
    "field": (lambda pod: pod["spec"].update({"hostname": "a"}), "pod: its release changed what is not ours"),
}


@pytest.mark.parametrize("spoil", SPOIL)
def test_a_release_that_is_wrong_is_found(spoil: str) -> None:
    told = Told()
    pod = told.waits("pod")
    told.released(pod)
    assert list(told.ledger.wrong_releases()) == []
    SPOIL[spoil][0](told.history.events["pods"][-1].object)
    assert list(told.ledger.wrong_releases()) == [SPOIL[spoil][1]]


def test_the_leader_before_counts_for_the_seconds_of_the_fence() -> None:
    for seconds, found in ((3.0, []), (7.0, ["pod was released by one, who did not lead"])):
        told = Told()
        pod = told.waits("pod")
        told.tell("leases", {"metadata": {"name": "penstock-controller"}, "spec": {"holderIdentity": "two"}}, at=50.0)
        told.released(pod)
        last = told.history.events["pods"].pop()
        told.history.events["pods"].append(Event(last.type, last.version, 50.0 + seconds, last.object, b""))
        assert list(told.ledger.wrong_releases()) == found


def test_strict_order_is_that_of_creation() -> None:
    told = Told()
    first, same, later = told.waits("first"), told.waits("same"), told.waits("later", second=1)
    for pod in (same, first, later):
        told.released(pod)
    assert list(told.ledger.overtaken("fifo", {"same": 1.0, "first": 9.0, "later": 10.0})) == []
    before, last = told.waits("before", second=5), told.waits("last", second=9)
    told.released(last)
    tried = {"first": 1.0, "same": 1.0, "later": 1.0, "last": 20.0}
    found = ["last was released before before, which came first"]
    assert list(told.ledger.overtaken("fifo", tried)) == found
    # both were decided on at once, and the patch of one failed
    assert list(told.ledger.overtaken("fifo", {**tried, "before": 20.1})) == []
    told.released(before)
    assert list(told.ledger.overtaken("fifo", {**tried, "before": 22.0})) == found
    told.tell("pods", before, "DELETED")
    assert list(told.ledger.overtaken("fifo", {**tried, "before": 22.0})) == found


def test_who_goes_away_was_not_overtaken() -> None:
    told = Told()
    before, last = told.waits("before", second=5), told.waits("last", second=9)
    told.released(last)
    told.tell("pods", before, "DELETED")
    assert list(told.ledger.overtaken("fifo", {"last": 20.0})) == []


def test_what_is_not_over_is_left() -> None:
    told = Told()
    pod = told.waits("pod")
    told.job(1)
    assert told.ledger.left() == ["pod: ", "job: "]
    told.ended(pod)
    assert told.ledger.left() == ["job: "]


def test_a_collection_as_it_was_told_until_a_time() -> None:
    told = Told()
    pod = told.waits("pod")
    other = told.waits("other")
    told.tell("pods", pod, "DELETED")
    then, since = told.history.as_of("pods", 3.0)
    assert (list(then), [one.type for one in since]) == ([(TEAM, "pod"), (TEAM, "other")], ["DELETED"])
    then, since = told.history.as_of("pods", 4.0)
    assert (list(then), since) == ([(TEAM, other["metadata"]["name"])], [])


def test_scripts_and_work_are_the_same_for_a_seed() -> None:
    assert draw(7) == draw(7) != draw(8)
    assert draw_work(7, SECONDS) == draw_work(7, SECONDS)
    spans = [span for seed in range(300) for span in draw(seed).spans]
    assert all(0 <= span.begin < span.end <= SECONDS for span in spans)

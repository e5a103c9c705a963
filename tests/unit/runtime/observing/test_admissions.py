"""What a shadow says of admissions: the leader did the same, something else, nothing, or more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.cache.sinks import JobSink
from controller.core.gate.job_growth import widening_patch
from controller.core.keys import WANTED_PARALLELISM
from controller.runtime.observing.differences import MOST_LINES
from controller.runtime.observing.patience import AGAIN_SECONDS, PATIENCE_SECONDS
from controller.simulator.eta import Eta
from controller.visibility.start_rows import AccuracyRow
from tests.support.builders import a_cluster_queue, a_flavor, a_node, a_pod, a_quota, a_released_pod, a_shape
from tests.support.fake_time import FakeTime
from tests.support.job_documents import Json, a_job_document, a_released_job, edited, pods_of, state_of
from tests.support.json_patch import patched
from tests.support.shadows import AShadow

ONE_CPU = a_shape(cpu="1")
AGREED = ("admission", "agreed")
OTHERWISE = ("admission", "otherwise")
NOT_RELEASED = ("admission", "not_released")
RELEASED_FIRST = ("admission", "released_first")
NOT_COMPARED = ("admission", "not_compared")


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    return FakeTime().install(monkeypatch)


def test_the_leader_did_the_same(time: FakeTime) -> None:
    shadow = AShadow(time, a_pod("a", ONE_CPU))
    assert (shadow.decide(), shadow.charged) == ({"a"}, 1000)
    shadow.put(a_released_pod("a", ONE_CPU))
    assert (shadow.results, shadow.logged) == ({AGREED: 1}, [])
    assert (shadow.cache.assumed("a"), shadow.charged) == (None, 1000)
    shadow.after(AGAIN_SECONDS)
    assert shadow.results == {AGREED: 1}


def test_a_release_is_compared_with_what_was_forecast(time: FakeTime) -> None:
    shadow = AShadow(time, a_pod("a", ONE_CPU))
    shadow.forecasts.take({"a": Eta("ns/a", time.now + 5, time.now + 10, time.now + 20)}, time.now)
    time.now += 10
    shadow.put(a_released_pod("a", ONE_CPU), a_released_pod("a", ONE_CPU))
    assert shadow.forecasts.accuracy() == {"team-a": AccuracyRow(1, 0, 1.0, 0.0, 0.0)}


def test_each_kind_of_result_begins_at_0(time: FakeTime) -> None:
    samples = [one for metric in AShadow(time).metrics.observed.collect() for one in metric.samples]
    assert {one.labels["result"] for one in samples} == {
        "agreed", "otherwise", "not_released", "released_first", "not_compared", "not_evicted",
    }  # fmt: skip


def test_several_flavors_agree_as_a_whole(time: FakeTime) -> None:
    flavors = [a_flavor("spot"), a_flavor("other")]
    shadow = AShadow(
        time,
        a_pod("a", ONE_CPU),
        flavors=flavors,
        queues=[a_cluster_queue("team-a", a_quota("spot", cpu=4), a_quota("other", cpu=4))],
    )
    assert shadow.decide() == {"a"}
    shadow.put(a_released_pod("a", ONE_CPU, flavors=("spot", "other")))
    assert shadow.results == {OTHERWISE: 1}


def test_another_flavor_is_told_with_both(time: FakeTime) -> None:
    shadow = AShadow(time, a_pod("a", ONE_CPU))
    shadow.decide()
    shadow.put(a_released_pod("a", ONE_CPU, flavor="on-demand"))
    assert shadow.results == {OTHERWISE: 1}
    (line,) = shadow.logged
    assert (line["event"], line["result"], line["pod"]) == ("decided_otherwise", "otherwise", "default/a")
    assert line["ours"] == "ClusterQueue team-a, flavor spot"
    assert line["theirs"] == "ClusterQueue team-a, flavors on-demand"


def test_a_gate_that_was_opened_by_hand_is_told(time: FakeTime) -> None:
    shadow = AShadow(time, a_pod("a", ONE_CPU))
    shadow.decide()
    shadow.put(a_released_pod("a", ONE_CPU, cluster_queue=None, flavor=None))
    assert shadow.results == {OTHERWISE: 1}
    assert shadow.logged[0]["theirs"] == "released without Penstock's stamps"


def test_what_the_leader_does_not_do_gives_its_quota_back(time: FakeTime) -> None:
    shadow = AShadow(time, a_pod("a", ONE_CPU))
    shadow.decide()
    shadow.after(PATIENCE_SECONDS - 1)
    assert (shadow.results, shadow.charged) == ({}, 1000)
    shadow.after(1)
    assert (shadow.results, shadow.charged) == ({NOT_RELEASED: 1}, 0)
    assert shadow.logged[0]["ours"] == "ClusterQueue team-a, flavor spot"


def test_a_pod_that_was_not_released_is_left_alone_a_while(time: FakeTime) -> None:
    shadow = AShadow(time, a_pod("a", ONE_CPU), a_pod("b", a_shape(cpu="4"), created=1))
    assert shadow.decide() == {"a"}
    shadow.after(PATIENCE_SECONDS)
    assert shadow.decide() == {"b"}
    shadow.put(a_released_pod("b", a_shape(cpu="4")))
    shadow.pods.drop_pod("b")
    assert shadow.decide() == set()
    shadow.after(AGAIN_SECONDS)
    assert shadow.decide() == {"a"}


def test_a_release_that_comes_late_counts_once(time: FakeTime) -> None:
    shadow = AShadow(time, a_pod("a", ONE_CPU))
    shadow.decide()
    shadow.after(PATIENCE_SECONDS)
    shadow.put(a_released_pod("a", ONE_CPU))
    assert (shadow.results, shadow.charged) == ({NOT_RELEASED: 1}, 1000)


LARGE = a_shape(cpu="9")


def test_a_pod_that_waited_here_was_released_first(time: FakeTime) -> None:
    shadow = AShadow(time, a_pod("a", LARGE))
    assert shadow.decide() == set()
    time.now += PATIENCE_SECONDS + 1
    shadow.put(a_released_pod("a", LARGE))
    assert shadow.results == {RELEASED_FIRST: 1}
    assert shadow.logged[0]["ours"] == "left waiting for 11 s"


def test_a_pod_that_has_just_come_is_not_compared(time: FakeTime) -> None:
    shadow = AShadow(time, a_pod("a", LARGE))
    assert shadow.decide() == set()
    time.now += PATIENCE_SECONDS
    shadow.put(a_released_pod("a", LARGE))
    assert shadow.results == {NOT_COMPARED: 1}


def test_a_pod_that_was_edited_has_just_come(time: FakeTime) -> None:
    shadow = AShadow(time, a_pod("a", LARGE, held="by jane"))
    time.now += PATIENCE_SECONDS + 1
    shadow.put(a_pod("a", LARGE))
    assert shadow.decide() == set()
    shadow.put(a_released_pod("a", LARGE))
    assert shadow.results == {NOT_COMPARED: 1}


def test_nothing_is_compared_before_a_decision_is_made(time: FakeTime) -> None:
    shadow = AShadow(time, a_pod("a", LARGE))
    time.now += PATIENCE_SECONDS + 1
    shadow.put(a_released_pod("a", LARGE))
    assert shadow.results == {NOT_COMPARED: 1}


def test_nothing_is_compared_while_no_more_are_decided_on(time: FakeTime) -> None:
    shadow = AShadow(time, a_pod("a", ONE_CPU), a_pod("b", ONE_CPU, created=1), ahead=1)
    assert (shadow.decide(), shadow.admissions.room()) == ({"a"}, 0)
    time.now += PATIENCE_SECONDS + 1
    shadow.put(a_released_pod("b", ONE_CPU))
    assert shadow.results == {NOT_COMPARED: 1}


def test_pods_that_were_released_before_are_not_compared(time: FakeTime) -> None:
    shadow = AShadow(time, a_released_pod("a", ONE_CPU))
    time.now += PATIENCE_SECONDS + 1
    shadow.put(a_released_pod("a", ONE_CPU, node="node-1"))
    assert shadow.results == {}


def test_an_edited_pod_is_decided_again(time: FakeTime) -> None:
    shadow = AShadow(time, a_pod("a", ONE_CPU, resource_version="1"))
    shadow.decide()
    shadow.put(a_pod("a", ONE_CPU, resource_version="2", held="by jane"))
    assert (shadow.cache.assumed("a"), shadow.charged) == (None, 0)
    assert shadow.decide() == set()
    shadow.after(PATIENCE_SECONDS)
    assert shadow.results == {}


def test_a_condition_is_no_edit(time: FakeTime) -> None:
    shadow = AShadow(time, a_pod("a", ONE_CPU, resource_version="1"))
    shadow.decide()
    shadow.put(a_pod("a", ONE_CPU, resource_version="2"))
    assert shadow.charged == 1000


@pytest.mark.parametrize("ends", ["deleted", "terminating"])
def test_a_pod_that_goes_is_not_compared(time: FakeTime, ends: str) -> None:
    queued = a_pod("a", ONE_CPU)
    shadow = AShadow(time, queued)
    shadow.decide()
    if ends == "deleted":
        shadow.pods.drop_pod("a")
    else:
        shadow.put(replace(queued, is_terminating=True))
    assert shadow.charged == 0
    shadow.after(PATIENCE_SECONDS)
    assert shadow.results == {}


def test_many_differences_are_counted_and_some_are_logged(time: FakeTime) -> None:
    names = [f"p{number}" for number in range(MOST_LINES + 3)]
    small = a_shape(cpu="0.1")
    shadow = AShadow(time, *(a_pod(name, small) for name in names), nodes=[a_node(cpu="8")])
    assert len(shadow.decide()) == len(names)
    shadow.after(PATIENCE_SECONDS)
    assert (shadow.results, len(shadow.logged)) == ({NOT_RELEASED: len(names)}, MOST_LINES)
    shadow.put(a_pod("last", small))
    shadow.decide()
    shadow.after(PATIENCE_SECONDS)
    assert shadow.logged[-1]["left_out"] == 3


def admitted(job: Json, count: int) -> Json:
    """The Job with so many more pods at a time, as the leader's patch makes it."""
    return edited(patched(job, widening_patch(pods_of(job), count, by="leader")))


def test_the_leader_admits_a_job_and_its_further_pods_too(time: FakeTime) -> None:
    shadow, job = AShadow(time), a_job_document("a", spec={"parallelism": 2, "completions": 50})
    jobs = JobSink(shadow.cache)
    jobs.upsert(state_of(job))
    assert shadow.decide() == {"a"}
    released = a_released_job(job, [a_flavor()])
    released["metadata"]["annotations"][WANTED_PARALLELISM] = "9"
    jobs.upsert(state_of(released))
    shadow.after(PATIENCE_SECONDS)
    assert (shadow.results, shadow.cache.assumed("a")) == ({AGREED: 1}, None)
    assert shadow.decide() == {"a/more"}
    jobs.upsert(state_of(admitted(released, 6)))
    shadow.after(PATIENCE_SECONDS)
    assert (shadow.results, shadow.charged) == ({AGREED: 1}, 8000)

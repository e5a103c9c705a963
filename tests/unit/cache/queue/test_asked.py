"""Of whom the next decisions tell why they wait: all in the end, a portion at a time, and nobody where all was said."""

from __future__ import annotations

from math import inf

from controller.cache.queue.asked import PORTION, Asked
from controller.cache.queue.pauses import PAUSE_SECONDS
from controller.core.workloads.backlog import Backlog
from controller.core.workloads.workload import WorkloadClass
from tests.support.builders import a_pod, a_shape, a_workload

NOW = 1_000.0


def asked_about(count: int, *, queues: int = 1) -> tuple[Asked, list[WorkloadClass]]:
    backlog, kinds = Backlog(), list[WorkloadClass]()
    asked = Asked(backlog)
    for number in range(count):
        pod = a_pod(f"p{number}", a_shape(cpu=f"{number + 1}m"), queue=f"q{number % queues}")
        backlog.put(a_workload(pod))
        kinds.append(a_workload(pod).kind)
        asked.ask(kinds[-1])
    return asked, kinds


def told_of(asked: Asked, now: float) -> list[WorkloadClass]:
    asked.advance(now)
    found = list(asked.portion)
    asked.told(found, is_complete=True)
    return found


def test_who_was_never_told_of_comes_first_a_portion_at_a_time() -> None:
    asked, kinds = asked_about(PORTION + 5)
    assert told_of(asked, NOW) == kinds[:PORTION]
    assert asked.next_change(NOW) == NOW + PAUSE_SECONDS
    assert told_of(asked, NOW + PAUSE_SECONDS / 2) == []
    assert told_of(asked, NOW + PAUSE_SECONDS) == kinds[PORTION:]
    assert asked.next_change(NOW + PAUSE_SECONDS) == inf


def test_local_queues_take_turns() -> None:
    asked, kinds = asked_about(4 * PORTION, queues=2)
    found = told_of(asked, NOW)
    assert {kind.queue for kind in found} == {kind.queue for kind in kinds}


def test_after_a_change_there_is_a_round_over_all() -> None:
    asked, kinds = asked_about(PORTION // 2)
    told_of(asked, NOW)
    assert told_of(asked, NOW + 1) == []
    asked.changed()
    assert asked.next_change(NOW + 1) == NOW + 1
    assert set(told_of(asked, NOW + 1)) == set(kinds)
    assert asked.next_change(NOW + 2) == inf


def test_an_early_end_leaves_the_rest_of_the_portion() -> None:
    asked, kinds = asked_about(3)
    asked.advance(NOW)
    asked.told(kinds[:1], is_complete=False)
    assert list(asked.portion) == kinds[1:]


def test_whom_a_decision_told_of_unasked_is_not_asked_about() -> None:
    asked, kinds = asked_about(3)
    asked.told(kinds[:2], is_complete=True)
    assert told_of(asked, NOW) == kinds[2:]


def test_who_waits_no_longer_is_not_asked_about() -> None:
    asked, kinds = asked_about(3)
    asked.advance(NOW)
    asked.class_left(kinds[0])
    assert list(asked.portion) == kinds[1:]


def test_a_clock_that_is_set_back_does_not_stop_the_round() -> None:
    asked, kinds = asked_about(2 * PORTION)
    told_of(asked, NOW)
    assert told_of(asked, NOW - 3_600) == kinds[PORTION:]

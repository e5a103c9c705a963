"""Which classes of a LocalQueue are tested in each decision: the first in its order."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from controller.cache.index.queue_windows import QueueWindows
from controller.core.workloads.workload import Workload, WorkloadClass
from tests.support.builders import a_pod, a_shape, a_workload

SIZE = 10
Runs = dict[WorkloadClass, Sequence[Workload]]


def put(runs: Runs, windows: QueueWindows, number: int, *, created: float) -> WorkloadClass:
    workload = a_workload(a_pod(f"p{number}", a_shape(cpu=f"{number + 1}m"), created=created))
    runs[workload.kind] = [workload]
    windows.add(workload.kind)
    return workload.kind


def take(runs: Runs, windows: QueueWindows, kind: WorkloadClass) -> None:
    del runs[kind]
    windows.remove(kind)


def line(windows: QueueWindows) -> list[WorkloadClass]:
    windows.fill()
    return [kind for kinds in windows.lines.values() for kind in kinds]


def test_the_first_in_order_are_inside() -> None:
    runs: Runs = {}
    windows = QueueWindows(runs, size=SIZE)
    kinds = [put(runs, windows, number, created=number) for number in range(3 * SIZE)]
    assert line(windows) == kinds[:SIZE]


def test_who_comes_with_a_better_place_is_inside_at_once() -> None:
    runs: Runs = {}
    windows = QueueWindows(runs, size=SIZE)
    for number in range(2 * SIZE):
        put(runs, windows, number, created=100 + number)
    first = put(runs, windows, 99, created=1)
    assert line(windows)[0] == first


def test_a_window_is_filled_again_when_half_of_it_left() -> None:
    runs: Runs = {}
    windows = QueueWindows(runs, size=SIZE)
    kinds = [put(runs, windows, number, created=number) for number in range(3 * SIZE)]
    for kind in kinds[: SIZE // 2]:
        take(runs, windows, kind)
    assert line(windows) == kinds[SIZE // 2 : SIZE // 2 + SIZE]


def test_a_queue_of_which_nothing_waits_has_no_line() -> None:
    runs: Runs = {}
    windows = QueueWindows(runs, size=SIZE)
    take(runs, windows, put(runs, windows, 1, created=1.0))
    assert line(windows) == []
    assert not windows.lines


def test_a_window_holds_half_to_one_and_a_half_its_size() -> None:
    chance, runs = Random(7), Runs()  # noqa: S311 - cases, not secrets
    windows, inside = QueueWindows(runs, size=SIZE), set[WorkloadClass]()
    for number in range(2_000):
        if runs and chance.random() < 0.45:
            kind = chance.choice(list(runs))
            del runs[kind]
            if windows.remove(kind):
                inside.remove(kind)
        else:
            workload = a_workload(a_pod(f"p{number}", a_shape(cpu=f"{number + 1}m"), created=chance.random()))
            runs[workload.kind] = [workload]
            if windows.add(workload.kind):
                inside.add(workload.kind)
        entering, leaving = windows.fill()
        inside = (inside | set(entering)) - set(leaving)
        assert {kind for kinds in windows.lines.values() for kind in kinds} == inside
        assert min(len(runs), SIZE // 2) <= len(inside) <= SIZE + SIZE // 2

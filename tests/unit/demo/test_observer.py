"""What the demo makes of what it sees: stages, times, reasons, quota; and how that looks and is summed up."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

import msgspec
import orjson
import pytest
from rich.console import Console

from controller.core.keys import CONDITION, FLAVOR, GATE
from controller.demo import display, summary, wire, world, writes
from controller.demo.observer import Observer, Stage
from controller.demo.summary import Result
from controller.demo.writes import Writes


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def observer(clock: Clock) -> Observer:
    return Observer(world.of_cluster("abc"), 3, clock)


def pod(
    name: str, *, gated: bool = False, node: str = "", phase: str = "Pending", flavor: str = "", waits: str = ""
) -> wire.PodObject:
    reason, _, message = waits.partition(": ")
    return msgspec.convert(
        {
            "metadata": {
                "name": name,
                "namespace": "demo-abc-team-a",
                "uid": name,
                "labels": {FLAVOR: f"demo-abc-{flavor}"} if flavor else None,
            },
            "spec": {"schedulingGates": [{"name": GATE}] if gated else None, "nodeName": node},
            "status": {
                "phase": phase,
                "reason": "Evicted" if phase == "Failed" else "",
                "conditions": [{"type": CONDITION, "status": "False", "reason": reason, "message": message}]
                if waits
                else None,
            },
        },
        wire.PodObject,
    )


def run_through(observer: Observer, clock: Clock, name: str, waited: float) -> None:
    observer.see_pod(pod(name, gated=True))
    clock.now += waited
    observer.see_pod(pod(name, flavor="spot"))
    observer.see_pod(pod(name, flavor="spot", node="n", phase="Running"))
    clock.now += 1
    observer.see_pod(pod(name, flavor="spot", node="n", phase="Succeeded"))


def result(observer: Observer, by_pod: Counter[tuple[str, str]] | None = None) -> Result:
    return Result.of(observer, Writes(source="audit log", released=3, refused=1, by_pod=by_pod, conditions=7))


def test_a_pod_passes_from_queued_to_done(observer: Observer, clock: Clock) -> None:
    observer.see_pod(pod("a", gated=True))
    track = observer.tracks["a"]
    stages = [track.stage]
    clock.now = 107.0
    for seen in (
        pod("a", flavor="spot"),
        pod("a", flavor="spot", node="n"),
        pod("a", flavor="spot", node="n", phase="Succeeded"),
    ):
        observer.see_pod(seen)
        stages.append(track.stage)
        clock.now += 1
    assert stages == [Stage.QUEUED, Stage.RESERVED, Stage.RUNNING, Stage.DONE]
    assert (track.created, track.released, track.ended) == (100.0, 107.0, 109.0)
    assert (track.namespace, track.flavor) == ("team-a", "spot")


def test_reasons_are_counted_with_their_commonest_words(observer: Observer) -> None:
    observer.see_pod(pod("a", gated=True, waits="Priority: behind demo-abc-team-a/z"))
    observer.see_pod(pod("b", gated=True, waits="QuotaExceeded: none is free"))
    observer.see_pod(pod("c", gated=True, waits="QuotaExceeded: none is free"))
    observer.see_pod(pod("d", gated=True))
    reasons = observer.picture().reasons
    assert [(one.name, one.count) for one in reasons] == [("QuotaExceeded", 2), ("Priority", 1), ("(not said yet)", 1)]
    assert [one.text for one in reasons[:2]] == ["none is free", "behind team-a/z"]


def test_a_released_pod_waits_no_longer(observer: Observer) -> None:
    observer.see_pod(pod("a", flavor="spot", waits="Priority: behind"))
    assert observer.picture().reasons == ()


def test_quota_is_what_the_queue_says(observer: Observer) -> None:
    assert [(row.used, row.nominal) for row in observer.picture().quota[:2]] == [(0, 200), (0, 80)]
    said = {
        "metadata": {"name": "demo-abc-team-a"},
        "status": {
            "flavorsUsage": [
                {"name": "demo-abc-spot", "resources": [{"name": "cpu", "total": "120m", "quota": "200m"}]}
            ]
        },
    }
    observer.see_queue(msgspec.convert(said, wire.QueueObject))
    row = observer.picture().quota[0]
    assert (row.queue, row.flavor, row.used, row.nominal, row.borrowed) == ("team-a", "spot", 120, 200, 0)


def borrows(observer: Observer, milli: int) -> None:
    cpu = {"name": "cpu", "total": f"{200 + milli}m", "quota": "200m", "borrowed": f"{milli}m"}
    said = {
        "metadata": {"name": "demo-abc-team-a"},
        "status": {"flavorsUsage": [{"name": "demo-abc-spot", "resources": [cpu]}]},
    }
    observer.see_queue(msgspec.convert(said, wire.QueueObject))


def test_borrowing_is_shown_and_the_most_of_it_at_the_end(observer: Observer) -> None:
    borrows(observer, 40)
    borrows(observer, 80)
    borrows(observer, 20)
    assert observer.picture().quota[0].borrowed == 20
    assert "borrowed: team-a 20m of spot" in display.line(observer.picture())
    shown = io.StringIO()
    Console(file=shown, width=100, force_terminal=False).print(display.render(observer.picture(), 30))
    assert "20m borrowed, 220m of 200m" in shown.getvalue()
    assert dict(summary.lines(result(observer)))["team-a borrowed"] == "up to 80m cores of spot beyond its own 200m"
    borrows(observer, 0)
    assert "borrowed" not in display.line(observer.picture())


def test_only_events_of_penstock_are_told(observer: Observer) -> None:
    for component in ("default-scheduler", "penstock.dev/controller"):
        observer.see_event(
            msgspec.convert(
                {
                    "metadata": {},
                    "involvedObject": {"namespace": "demo-abc-team-a", "name": "p"},
                    "message": f"by {component}",
                    "reportingComponent": component,
                },
                wire.EventObject,
            )
        )
    assert list(observer.events) == ["team-a/p  by penstock.dev/controller"]


@pytest.mark.parametrize(("width", "height"), [(80, 24), (100, 30), (200, 60)])
def test_the_display_fits_its_terminal(observer: Observer, clock: Clock, width: int, height: int) -> None:
    run_through(observer, clock, "a", 3)
    for number in range(5):
        observer.see_pod(pod(f"p{number}", gated=True, waits=f"Reason{number}: " + "words " * 50))
        observer.events.append("an event " * 40)
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=True, color_system=None)
    lines = console.render_lines(display.render(observer.picture(), height))
    assert len(lines) < height
    text = "\n".join("".join(segment.text for segment in row).rstrip() for row in lines)
    assert "both teams" in text
    assert "Reason0" in text


def test_a_line_says_the_same_in_words(observer: Observer, clock: Clock) -> None:
    observer.begin()
    run_through(observer, clock, "a", 3)
    observer.see_pod(pod("b", gated=True, waits="NoCapacity: no node"))
    assert display.line(observer.picture()) == (
        "    4 s  queued   1  reserved   0  running   0  done   1/3  released  0.2/s  waiting: NoCapacity 1"
    )


def test_a_complete_run_has_no_shortcomings(observer: Observer, clock: Clock) -> None:
    for name, waited in (("a", 1.0), ("b", 5.0), ("c", 3.0)):
        run_through(observer, clock, name, waited)
    assert observer.is_over
    done = result(observer, Counter({("n", "a"): 1, ("n", "b"): 1, ("n", "c"): 1}))
    assert done.shortcomings() == []
    assert dict(summary.lines(done)) == {
        "pods": "3 of 3 released, 3 ended, in 12.0 s",
        "wait at the gate": "p50 3.0 s, p95 5.0 s, longest 5.0 s",
        "  team-a": "p50 3.0 s, p95 5.0 s, longest 5.0 s",
        "where they ran": "spot 3 (100 %)",
        "borrowed": "nothing: nobody had to",
        "release patches": "3 for 3 pods: exactly one each, 1 more had to be decided again (audit log)",
        "condition patches": "7, to say on pods why they wait",
    }


def test_a_second_patch_of_a_pod_is_not_hidden(observer: Observer) -> None:
    text = dict(summary.lines(result(observer, Counter({("n", "a"): 2, ("n", "b"): 1}))))["release patches"]
    assert "pods by number of patches: 1: 1, 2: 1" in text
    assert "exactly" not in text


def test_what_is_missing_is_named_with_its_reason(observer: Observer) -> None:
    observer.trouble = "watching pods: refused"
    observer.see_pod(pod("stuck", gated=True, waits="NoCapacity: no node has room"))
    observer.see_pod(pod("lost", phase="Failed"))
    assert result(observer).shortcomings() == [
        "never seen: 1",
        "still queued: 1 (NoCapacity: 1; such as team-a/stuck: no node has room)",
        "passed without a decision of Penstock: 1, such as team-a/lost",
        "failed: 1, such as team-a/lost (Evicted)",
        "watching pods: refused",
    ]


def test_writes_are_counted_by_writer_and_effect(tmp_path: Path) -> None:
    ours = "system:serviceaccount:penstock-system:penstock-controller"

    def entry(user: str, verb: str, name: str, code: int, subresource: str = "", resource: str = "pods") -> bytes:
        pod = {"resource": resource, "namespace": "n", "name": name, "subresource": subresource}
        return orjson.dumps(
            {"verb": verb, "user": {"username": user}, "objectRef": pod, "responseStatus": {"code": code}}
        )

    log = tmp_path / "audit.log"
    log.write_bytes(
        b"\n".join(
            [
                entry(ours, "patch", "a", 200),
                entry(ours, "patch", "a", 422),
                entry(ours, "patch", "b", 200),
                entry(ours, "patch", "b", 200, "status"),
                entry(ours, "patch", "b", 200, resource="events"),
                entry(ours, "patch", "q", 200, "status", resource="localqueues"),
                entry("kwok", "patch", "b", 200),
                entry("admin", "create", "c", 201),
            ]
        )
    )
    assert writes.from_audit_log(log) == Writes(
        source="audit log", released=2, refused=1, by_pod=Counter({("n", "a"): 1, ("n", "b"): 1}), conditions=1
    )

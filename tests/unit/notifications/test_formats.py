"""How notices are written: CloudEvents as the specification has them, and text that does nothing in a chat."""

from __future__ import annotations

import orjson

from controller.notifications.formats import body, slack
from controller.notifications.notices import admitted, evicted, late, workload_of
from tests.support.notices import NOON, a_late_start, an_admitted_pod, an_eviction

POD = an_admitted_pod("train-0")


def text(*lines: str, cluster: str | None = None) -> str:
    written = orjson.loads(slack(lines, cluster))
    assert set(written) == {"text"}
    return str(written["text"])


def test_a_cloud_event_has_what_the_specification_requires() -> None:
    notice = admitted(workload_of(POD), [POD])
    written = orjson.loads(body("CloudEvents", [notice], None))
    assert {written[name] for name in ("specversion", "source", "type")} == {
        "1.0",
        "/penstock",
        "dev.penstock.workload.admitted.v1",
    }
    assert (written["id"], written["subject"]) == (notice.id, "namespaces/default/job/train")
    assert (written["time"], written["datacontenttype"]) == ("2026-03-04T12:00:00Z", "application/json")
    assert written["data"]["waitedSeconds"] == 60
    assert orjson.loads(body("CloudEvents", [notice], "prod"))["source"] == "/penstock/prod"


def test_people_read_what_happened_to_whom() -> None:
    ref = workload_of(POD)
    lines = [
        admitted(ref, [POD, an_admitted_pod("train-1", flavors=("spot", "on-demand"))]).text,
        evicted(ref, [an_eviction(POD)], NOON).text,
        late(ref, [a_late_start()], NOON + 9).text,
    ]
    assert lines == [
        "Admitted: job/train in namespace default, onto one of the flavors spot, on-demand for ClusterQueue team-a, "
        "after 1m (2 pods)",
        "Evicted: job/train in namespace default, Preempted: team-b/urgent needs 4 cpu of flavor spot",
        "Late: job/train in namespace default, it was expected to start by 2026-03-04T12:00:00Z; "
        "QuotaExceeded: flavor spot: quota of cpu is used up",
    ]


def test_several_notices_are_one_message() -> None:
    assert text("one", "two", cluster="prod") == "[prod] one\n[prod] two"


def test_no_name_calls_people_or_makes_a_link() -> None:
    assert text("<!channel> <https://evil.example|x> a&b") == (
        "&lt;!channel&gt; &lt;https://evil.example|x&gt; a&amp;b"
    )
    assert "@channel" not in text("the annotation is '@channel'")
    assert text("two\nlines") == "two lines"


def test_a_line_that_is_very_long_is_cut() -> None:
    assert len(text("x" * 2000)) == 500

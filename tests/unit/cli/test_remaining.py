"""What `penstock hold` and `drain` tell of the pods that go on; the conditions themselves are proved elsewhere."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from controller.cli.remaining import remaining
from controller.core.queueing.operator_actions import Verb
from controller.kube.decode_operator_actions import decode_handled
from controller.kube.errors import Forbidden
from controller.runtime.operator_action_targets import Subject
from tests.support.fake_client import FakeClient
from tests.support.fake_time import FakeTime

PATH = "/apis/penstock.dev/v1alpha1/clusterqueues/q"


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    return FakeTime().install(monkeypatch)


def a_queue(*conditions: dict[str, Any], **status: int) -> bytes:
    metadata = {"name": "q", "uid": "q", "generation": 2}
    return orjson.dumps({"metadata": metadata, "spec": {}, "status": {"conditions": conditions, **status}})


def drained(reason: str, generation: int = 2) -> dict[str, Any]:
    return {"type": "Drained", "reason": reason, "message": f"as {reason}", "observedGeneration": generation}


QUEUE = Subject(PATH, "clusterqueue q", decode_handled(a_queue()))


async def told(client: FakeClient, verb: Verb) -> tuple[list[str], bool]:
    found = await remaining(client.as_client, verb, [QUEUE])
    return found.lines, found.pods_stay


async def test_a_drain_tells_what_the_controller_says_now(time: FakeTime) -> None:
    client = FakeClient().will("GET", a_queue(), a_queue(drained("Draining", 1)), a_queue(drained("PodsStay")))
    assert await told(client, Verb.DRAIN) == (["clusterqueue q: as PodsStay"], True)


async def test_a_drain_of_which_all_go_is_well(time: FakeTime) -> None:
    client = FakeClient().will("GET", a_queue(drained("Draining")))
    assert await told(client, Verb.DRAIN) == (["clusterqueue q: as Draining"], False)


async def test_a_silent_controller_is_not_waited_for_for_ever(time: FakeTime) -> None:
    client = FakeClient().will("GET", *[a_queue()] * 99)
    (line,), pods_stay = await told(client, Verb.DRAIN)
    assert "check whether the controller runs" in line
    assert pods_stay is False


@pytest.mark.parametrize(("running", "lines"), [(0, 0), (3, 1)])
async def test_a_held_queue_says_how_many_go_on(running: int, lines: int) -> None:
    client = FakeClient().will("GET", a_queue(running=running, reserved=0))
    found, pods_stay = await told(client, Verb.HOLD)
    assert (len(found), pods_stay) == (lines, False)
    assert all("3 admitted pods go on" in line for line in found)


async def test_a_status_that_may_not_be_read_is_told(time: FakeTime) -> None:
    client = FakeClient().will("GET", Forbidden(403, "Forbidden", "no"))
    assert await told(client, Verb.DRAIN) == (["clusterqueue q: its status cannot be read: 403 Forbidden: no"], False)

"""When pods ran, as their nodes say."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from controller.kube.decode import PodDecoder

Json = dict[str, Any]


def ended(at: int) -> Json:
    return {"name": "c", "state": {"terminated": {"finishedAt": f"1970-01-01T00:{at:02}:00Z"}}}


RUNNING: Json = {"name": "c", "state": {"running": {"startedAt": "1970-01-01T00:01:00Z"}}}
UNDATED: Json = {"name": "c", "state": {"terminated": {"finishedAt": None}}}


def times(phase: str, *containers: Json, init: tuple[Json, ...] = (), is_deleted: bool = False) -> tuple[int, int]:
    meta = {"uid": "p", "namespace": "default", "name": "p"}
    gone = {"deletionTimestamp": "1970-01-01T00:10:00Z"} if is_deleted else {}
    status = {
        "phase": phase,
        "startTime": "1970-01-01T00:01:00Z",
        "containerStatuses": list(containers),
        "initContainerStatuses": list(init),
    }
    found = PodDecoder()(orjson.dumps({"metadata": {**meta, **gone}, "status": status}))
    return found.started, found.ended


def test_a_pod_that_no_kubelet_took_up_has_not_started() -> None:
    found = PodDecoder()(orjson.dumps({"metadata": {"uid": "p", "namespace": "default", "name": "p"}}))
    assert (found.started, found.ended) == (0, 0)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_ended_with_its_last_container(phase: str) -> None:
    assert times(phase, ended(3), ended(5), ended(4)) == (60, 300)


def test_a_pod_that_never_ran_ended_with_its_failed_container() -> None:
    waiting: Json = {"name": "c", "state": {"waiting": {"reason": "PodInitializing"}}}
    assert times("Failed", waiting, init=(ended(2),)) == (60, 120)


@pytest.mark.parametrize("containers", [(), (UNDATED,), ({"name": "c"},)])
def test_an_end_that_nobody_dates_is_not_known(containers: tuple[Json, ...]) -> None:
    assert times("Failed", *containers) == (60, 0)


def test_an_ended_container_may_restart_unless_it_is_deleted() -> None:
    assert times("Running", ended(3)) == (60, 0)
    assert times("Running", ended(3), is_deleted=True) == (60, 180)


@pytest.mark.parametrize("containers", [(), (ended(3), RUNNING), (ended(3), UNDATED)])
def test_a_deleted_pod_runs_as_long_as_a_container_may(containers: tuple[Json, ...]) -> None:
    assert times("Running", *containers, is_deleted=True) == (60, 0)

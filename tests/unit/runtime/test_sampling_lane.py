"""Samples of what pods use: of running pods of queues alone, each once, and none where nobody measures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.cache.cluster import ClusterCache
from controller.history.recorder import Recorder
from controller.history.used import Used
from controller.kube.clock import rfc3339
from controller.kube.errors import Forbidden, KubeError, NotFound, ServerError
from controller.runtime.sampling_lane import PATH, SamplingLane
from tests.support.builders import a_cache, a_pod, a_released_pod
from tests.support.fake_client import FakeClient, Outcome
from tests.support.fake_time import FakeTime
from tests.support.pod_documents import raw


def metrics(name: str, *usage: tuple[str, str], at: float = 100.0) -> dict[str, Any]:
    containers = [{"name": str(number), "usage": {"cpu": c, "memory": m}} for number, (c, m) in enumerate(usage)]
    metadata = {"namespace": "default", "name": name}
    return {"metadata": metadata, "timestamp": rfc3339(at), "window": "15s", "containers": containers}


def listed(*items: object) -> bytes:
    return raw({"kind": "PodMetricsList", "metadata": {}, "items": list(items)})


def a_world() -> ClusterCache:
    return a_cache(
        a_released_pod("runs", node="node-1", started=70),
        a_released_pod("new", node="node-1", started=200),
        a_released_pod("done", node="node-1", started=70, is_finished=True),
        a_pod("waits"),
        replace(a_released_pod("free", node="node-1", started=70), queue=None),
    )


async def sampled(monkeypatch: pytest.MonkeyPatch, *outcomes: Outcome) -> tuple[dict[str, Used], list[float]]:
    """What was recorded of these answers, and for how long it paused behind each."""
    time = FakeTime().install(monkeypatch)
    cache, client = a_world(), FakeClient().will("GET", *outcomes)
    recorder = Recorder(cache.pods, lambda _: {})
    lane = SamplingLane(client.as_client, cache, recorder)
    with pytest.raises(AssertionError, match="nobody expected"):
        await lane.run()
    assert {call.path for call in client.calls} == {PATH}
    recorder.settle()
    used = {one.run.uid: one.used for one in recorder.take(100) if one.used is not None}
    return used, [pause for pause in time.slept if pause]


async def test_running_pods_of_queues_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    items = [metrics(name, ("250m", "64Mi"), ("1500000n", "1Ki")) for name in ("runs", "new", "done", "waits", "free")]
    used, pauses = await sampled(monkeypatch, listed(*items, metrics("foreign", ("1", "1Gi"))))
    assert used == {"runs": Used(1, {"cpu": 252, "memory": 2**26 + 1024}, {"cpu": 252, "memory": 2**26 + 1024})}
    assert pauses == [60.0]


async def test_a_measurement_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first, later = metrics("runs", ("1", "1Ki")), metrics("runs", ("3", "1Ki"), at=160.0)
    used, _ = await sampled(monkeypatch, listed(first), listed(first), listed(later))
    assert (used["runs"].samples, used["runs"].sums["cpu"], used["runs"].peaks["cpu"]) == (2, 4000, 3000)


@pytest.mark.parametrize(
    ("error", "pause"),
    [
        (NotFound(404, "", "404 page not found"), 600.0),
        (Forbidden(403, "Forbidden", "no right"), 600.0),
        (ServerError(503, "ServiceUnavailable", "metrics-server is away"), 60.0),
    ],
)
async def test_where_nobody_measures_it_asks_again_later(
    monkeypatch: pytest.MonkeyPatch, error: KubeError, pause: float
) -> None:
    used, pauses = await sampled(monkeypatch, error, error, listed(metrics("runs", ("1", "1Ki"))))
    assert pauses == [pause, pause, 60.0]
    assert set(used) == {"runs"}


async def test_what_cannot_be_read_costs_one_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = [{"metadata": {}}, metrics("runs", ("much", "1Ki")), {**metrics("runs"), "timestamp": "soon"}]
    used, _ = await sampled(monkeypatch, listed(*broken, metrics("runs", ("1", "1Ki"))))
    assert used["runs"].samples == 1

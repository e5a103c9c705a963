"""How a new leader tries the fence; that it holds is proved on a real apiserver (tests/faults/leaders)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controller.core.keys import ADMITTED_BY
from controller.kube.errors import Forbidden, KubeError, NotFound, Unreachable
from controller.runtime.takeover import Probe
from tests.support.fake_client import FakeClient
from tests.support.fake_time import FakeTime
from tests.support.pod_documents import raw

POD = raw({"items": [{"metadata": {"namespace": "team", "name": "a"}}]})
FENCED = Forbidden(403, "Forbidden", "leader-only: metadata.annotations: 'x' does not hold the Lease")


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    return FakeTime().install(monkeypatch)


def a_probe(client: FakeClient) -> Probe:
    return Probe(client.as_client, "penstock-system", "me_1")


def fenced_for(client: FakeClient, *leaders: str) -> Callable[[], bytes]:
    """An apiserver whose fence lets pass the stamps of these alone; none: it has no fence."""

    def answer() -> bytes:
        stamp = client.calls[-1].body["metadata"]["annotations"][ADMITTED_BY]
        if leaders and stamp not in leaders:
            raise FENCED
        return b"{}"

    return answer


async def test_it_passes_once_only_our_stamp_does(time: FakeTime) -> None:
    client = FakeClient().will("GET", *[POD] * 9)
    before, after = fenced_for(client, "former_1"), fenced_for(client, "me_1")
    client.will("PATCH", before, before, before, *[after] * 9)
    assert await a_probe(client).passed() is True
    assert {call.params["dryRun"] for call in client.made("PATCH")} == {"All"}
    assert len(client.made("GET")) == 4
    assert client.calls[0].params["labelSelector"] == "penstock.dev/queue-name"
    assert "metadata.namespace!=penstock-system" in client.calls[0].params["fieldSelector"]


async def test_without_a_pod_of_a_queue_there_is_nothing_to_wait_for(time: FakeTime) -> None:
    assert await a_probe(FakeClient().will("GET", raw({"items": []}))).passed() is None


async def test_a_fence_that_is_not_there_is_not_waited_for_for_ever(time: FakeTime) -> None:
    client = FakeClient().will("GET", *[POD] * 999)
    client.will("PATCH", *[fenced_for(client)] * 999)
    began = time.now
    assert await a_probe(client).passed() is False
    assert 15 <= time.now - began < 16


async def test_an_apiserver_that_is_away_says_nothing_of_the_fence(time: FakeTime) -> None:
    client = FakeClient().will("GET", *[Unreachable("refused")] * 200, POD)
    client.will("PATCH", *[fenced_for(client, "me_1")] * 2)
    assert await a_probe(client).passed() is True


@pytest.mark.parametrize("error", [NotFound(404, "NotFound", ""), Forbidden(403, "Forbidden", "some other policy")])
async def test_a_probe_that_says_nothing_is_repeated(time: FakeTime, error: KubeError) -> None:
    client = FakeClient().will("GET", POD, POD)
    client.will("PATCH", error, *[fenced_for(client, "me_1")] * 2)
    assert await a_probe(client).passed() is True


def pods_in(client: FakeClient, *namespaces: str) -> Callable[[], bytes]:
    """An apiserver with a pod in each, of which it gives the first that the selector leaves in."""

    def answer() -> bytes:
        left_out = client.calls[-1].params["fieldSelector"].replace("metadata.namespace!=", "").split(",")
        left = [name for name in namespaces if name not in left_out]
        return raw({"items": [{"metadata": {"namespace": name, "name": "a"}} for name in left[:1]]})

    return answer


def fenced_in(client: FakeClient, namespace: str) -> Callable[[], bytes]:
    """An apiserver whose policies leave all namespaces out but this one."""

    def answer() -> bytes:
        is_fenced = client.calls[-1].path.startswith(f"/api/v1/namespaces/{namespace}/")
        return fenced_for(client, *(["me_1"] if is_fenced else []))()

    return answer


async def test_a_namespace_that_the_policies_leave_out_is_passed(time: FakeTime) -> None:
    client = FakeClient()
    client.will("GET", *[pods_in(client, "build", "ci", "team")] * 3)
    client.will("PATCH", *[fenced_in(client, "team")] * 6)
    assert await a_probe(client).passed() is True
    assert len(time.slept) == 2


async def test_where_all_namespaces_were_tried_they_are_tried_again(time: FakeTime) -> None:
    client = FakeClient()
    client.will("GET", *[pods_in(client, "build", "team")] * 6)
    before, after = fenced_for(client, "former_1"), fenced_in(client, "team")
    client.will("PATCH", before, before, *[after] * 4)
    assert await a_probe(client).passed() is True
    asked = [call.path.split("/")[4] for call in client.made("PATCH")]
    assert asked == ["build", "team", "build", "build", "team", "team"]

from __future__ import annotations

from typing import Any

import orjson
import pytest

from controller.extension_api.authorization import ALLOWED_SECONDS, DENIED_SECONDS, Action, Authorizer
from controller.extension_api.front_proxy import Viewer
from controller.extension_api.statuses import Refused
from controller.kube.errors import Unreachable
from tests.support.fake_client import FakeClient

JANE = Viewer("jane", "7", ("devs",), (("project", ("one",)),))
LIST = Action.ours("list", "tickets", "", "team-a", "")


def said(*, allowed: bool) -> bytes:
    return orjson.dumps({"status": {"allowed": allowed}})


class World:
    """An authorizer whose apiserver answers by the namespace that is asked about, and a clock."""

    def __init__(self, *seen: str, most: int = 100) -> None:
        self.seen, self.now = set(seen), 0.0
        self.client = FakeClient().will("POST", *(self.answer for _ in range(100)))
        self.authorizer = Authorizer(self.client.as_client, lambda: self.now, most)

    def answer(self) -> bytes:
        return said(allowed=self.asked[-1]["resourceAttributes"]["namespace"] in self.seen)

    @property
    def asked(self) -> list[dict[str, Any]]:
        return [call.body["spec"] for call in self.client.calls]


async def test_the_whole_viewer_and_action_are_asked_about() -> None:
    world = World("team-a")
    assert await world.authorizer.may(JANE, LIST)
    (spec,) = world.asked
    assert spec == {
        "user": "jane",
        "uid": "7",
        "groups": ("devs",),
        "extra": {"project": ["one"]},
        "resourceAttributes": {
            "verb": "list",
            "group": "visibility.penstock.dev",
            "version": "v1alpha1",
            "resource": "tickets",
            "subresource": "",
            "namespace": "team-a",
            "name": "",
        },
    }


@pytest.mark.parametrize(("seen", "seconds"), [(["team-a"], ALLOWED_SECONDS), ([], DENIED_SECONDS)])
async def test_an_answer_is_remembered_for_a_moment(seen: list[str], seconds: float) -> None:
    world = World(*seen)
    for at, times in ((0.0, 1), (seconds - 0.1, 1), (seconds, 2)):
        world.now = at
        assert await world.authorizer.may(JANE, LIST) is bool(seen)
        assert len(world.asked) == times


async def test_another_group_is_another_viewer() -> None:
    world = World("team-a")
    await world.authorizer.may(JANE, LIST)
    await world.authorizer.may(Viewer("jane", "7", (), ()), LIST)
    assert len(world.asked) == 2


async def test_no_more_answers_are_kept_than_allowed() -> None:
    world = World(most=2)
    for name in ("a", "b", "c"):
        await world.authorizer.may(JANE, Action.list_pods(name))
    assert len(world.authorizer) == 2
    await world.authorizer.may(JANE, Action.list_pods("a"))
    assert len(world.asked) == 4


async def test_namespaces_are_asked_about_one_by_one() -> None:
    world = World("a", "c")
    assert await world.authorizer.seen(JANE, {"a", "b", "c"}) == {"a", "c"}
    assert [spec["resourceAttributes"]["namespace"] for spec in world.asked] == ["", "a", "b", "c"]
    assert {spec["resourceAttributes"]["resource"] for spec in world.asked} == {"pods"}


async def test_who_sees_all_pods_is_asked_about_once() -> None:
    world = World("")
    assert await world.authorizer.seen(JANE, {"a", "b", "c"}) == {"a", "b", "c"}
    assert len(world.asked) == 1


async def test_nobody_is_asked_about_no_names() -> None:
    world = World()
    assert await world.authorizer.seen(JANE, ()) == frozenset()
    assert world.asked == []


@pytest.mark.parametrize("outcome", [Unreachable("no answer in time"), b"[]"])
async def test_while_nobody_can_be_asked_nothing_is_shown(outcome: bytes | Exception) -> None:
    client = FakeClient().will("POST", *[outcome] * 9)
    authorizer = Authorizer(client.as_client, lambda: 0.0)
    for asking in (authorizer.may(JANE, LIST), authorizer.seen(JANE, {"a", "b"})):
        with pytest.raises(Refused, match="cannot ask what jane may see") as caught:
            await asking
        assert (caught.value.code, caught.value.retry_seconds) == (503, 1)

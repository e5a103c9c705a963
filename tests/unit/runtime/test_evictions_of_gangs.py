"""The lane with gangs: all of one go or none, whatever the apiserver says of its pods and budgets, or does not say."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from controller.core.workloads.decisions import Evict, EvictionCause
from controller.kube.errors import Conflict, Forbidden, NotFound, Unreachable
from tests.support.builders import a_released_pod
from tests.support.fake_client import FakeClient, Outcome
from tests.support.fake_time import FakeTime
from tests.unit.runtime.test_eviction_lane import BUDGET, BUSY, TWO_BUDGETS, WHY, Rig

PODS = "/api/v1/namespaces/default/pods"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


def a_list(*items: dict[str, Any]) -> bytes:
    return orjson.dumps({"metadata": {}, "items": items})


def a_budget(allowed: int) -> dict[str, Any]:
    spec = {"selector": {"matchLabels": {"app": "train"}}}
    return {"metadata": {"name": "guard"}, "spec": spec, "status": {"disruptionsAllowed": allowed}}


def a_written_pod(uid: str, *, app: str = "train") -> bytes:
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    return orjson.dumps({"metadata": {"name": uid, "uid": uid, "labels": {"app": app}}, "status": status})


class UnhurriedClient(FakeClient):
    """Lets others go on before it answers, as an apiserver does."""

    async def post(self, path: str, body: object, **options: Any) -> bytes:
        await asyncio.sleep(0)
        return await super().post(path, body, **options)


class GangRig(Rig):
    """A gang of three that runs, `a` to `c`, and is to go; `asked` is what the apiserver was asked, in short."""

    def __init__(self, *, get: Sequence[Outcome], post: Sequence[Outcome], patches: int = 3) -> None:
        client = UnhurriedClient().will("GET", *get).will("POST", *post).will("PATCH", *[b"{}"] * patches)
        super().__init__(client, *(a_released_pod(name, node="node-1") for name in "abc"))

    async def go(self) -> None:
        self.lane.submit(Evict(pod, EvictionCause.PREEMPTED, WHY, "gang") for pod in self.cache.pods.values())
        await self.run()

    @property
    def asked(self) -> list[str]:
        words = []
        for call in self.client.calls:
            name = call.path.removeprefix(f"{PODS}/").partition("/")[0]
            if call.path == BUDGETS:
                words.append("budgets")
            elif call.method == "POST":
                words.append(f"{'try' if call.params == {'dryRun': 'All'} else 'evict'} {name}")
            elif call.method == "PATCH":
                words.append(f"tell {name} {call.body['status']['conditions'][0]['status']}")
            else:
                words.append(f"read {name}")
        return words

    @property
    def told(self) -> dict[str, str]:
        """What was said last, by pod, after what is said of all."""
        found = {}
        for call in self.client.made("PATCH"):
            (condition,) = call.body["status"]["conditions"]
            found[call.body["metadata"]["uid"]] = condition["message"].removeprefix(WHY)
        return found

    @property
    def refused(self) -> list[str]:
        return sorted(self.cache.evictions.seen(0.0).refused)


TRIED = ["try a", "try b", "try c", "budgets"]
GONE = ["tell a True", "evict a", "tell b True", "evict b", "tell c True", "evict c"]
TOLD = ["tell a False", "tell b False", "tell c False"]


async def test_all_of_a_gang_are_tried_dry_before_the_first_goes(time: FakeTime) -> None:
    rig = GangRig(get=[a_list()], post=[b"{}"] * 6)
    await rig.go()
    assert rig.asked == [*TRIED, *GONE]
    assert (rig.counted(), rig.refused) == ({"evicted": 3}, [])


@pytest.mark.parametrize("at", [0, 1, 2])
async def test_none_of_a_gang_is_evicted_where_one_is_refused_dry(time: FakeTime, at: int) -> None:
    rig = GangRig(get=[], post=[*[b"{}"] * at, BUDGET])
    await rig.go()
    assert rig.asked == [*TRIED[: at + 1], *TOLD]
    assert (rig.counted(), rig.refused, rig.announced) == ({"refused": 3}, ["a", "b", "c"], [])
    assert rig.woken == 1
    one = "abc"[at]
    whole = f"; refused for now: its gang goes as a whole, and pod default/{one} may not go: {BUDGET}"
    assert rig.told == {**dict.fromkeys("abc", whole), one: f"; refused for now: {BUDGET}"}


async def test_none_of_a_refused_gang_is_on_its_way(time: FakeTime) -> None:
    rig = GangRig(get=[], post=[BUDGET])
    seen: list[tuple[set[str], list[str]]] = []

    def look() -> None:
        seen.append((set(rig.cache.evictions.under_way), rig.refused))

    rig.on_wake = look
    await rig.go()
    assert seen == [(set(), ["a", "b", "c"])]


@pytest.mark.parametrize(
    ("allowed", "apps", "goes"),
    [(1, "train train train", False), (2, "train train train", False), (3, "", True), (2, "train train web", True)],
)
async def test_a_gang_stays_where_a_budget_lets_only_some_go(
    time: FakeTime, allowed: int, apps: str, goes: bool
) -> None:
    read = [a_written_pod(uid, app=app) for uid, app in zip("abc", apps.split(), strict=False)]
    rig = GangRig(get=[a_list(a_budget(allowed)), *read], post=[b"{}"] * (6 if goes else 3))
    await rig.go()
    reads = ["read a", "read b", "read c"][: len(read)]
    assert rig.asked == [*TRIED, *reads, *(GONE if goes else TOLD)]
    said = (
        f"; refused for now: PodDisruptionBudget guard lets {allowed} more go now, and of this gang, which goes as a "
        "whole, 3 have to"
    )
    assert rig.told == dict.fromkeys("abc", "" if goes else said)


async def test_a_member_that_is_gone_is_no_reason_to_stay(time: FakeTime) -> None:
    gone = NotFound(404, "NotFound", "")
    read: list[Outcome] = [gone, a_written_pod("another"), a_written_pod("c")]
    post: list[Outcome] = [gone, Conflict(409, "Conflict", "uid"), b"{}", gone, Conflict(409, "Conflict", "uid"), b"{}"]
    rig = GangRig(get=[a_list(a_budget(1)), *read], post=post)
    await rig.go()
    assert rig.asked == [*TRIED, "read a", "read b", "read c", *GONE]
    assert rig.counted() == {"gone": 2, "evicted": 1}


@pytest.mark.parametrize("get", [[Forbidden(403, "Forbidden", "no")], [a_list(a_budget(1)), TWO_BUDGETS]])
async def test_a_gang_stays_where_budgets_or_its_pods_cannot_be_read(time: FakeTime, get: list[Outcome]) -> None:
    rig = GangRig(get=get, post=[b"{}"] * 3)
    await rig.go()
    assert rig.refused == ["a", "b", "c"]
    said = "; refused for now: the PodDisruptionBudgets of its namespace, or the pods of its gang, cannot be read: "
    assert all(text.startswith(said) for text in rig.told.values())


@pytest.mark.parametrize(
    ("get", "post"), [([], [b"{}", BUSY]), ([Unreachable("reset")], [b"{}"] * 3)], ids=["tried", "budgets"]
)
async def test_a_gang_without_an_answer_about_one_goes_later(
    time: FakeTime, get: list[Outcome], post: list[Outcome]
) -> None:
    rig = GangRig(get=get, post=post)
    await rig.go()
    assert (rig.refused, rig.counted(), set(rig.told)) == ([], {"unanswered": 3}, {"a", "b", "c"})
    assert set(rig.cache.evictions.seen(0.0).evicting) == {"a", "b", "c"}


async def test_a_gang_without_an_answer_is_redecided_as_a_whole(
    time: FakeTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While some of it count as going the others would go as pods of no gang, whatever its budgets say."""
    rig = GangRig(get=[], post=[BUSY])
    rig.now_and_later(monkeypatch)
    seen: list[set[str]] = []
    rig.on_wake = lambda: seen.append(set(rig.cache.evictions.seen(0.0).evicting))
    await rig.go()
    assert seen == [set()]


async def test_of_a_gang_either_all_are_tried_again_or_none(time: FakeTime) -> None:
    """Its members may have had no answer for different numbers of times: a drain takes them one by one."""
    rig = GangRig(get=[], post=[BUSY])
    for _ in range(6):
        rig.cache.evictions.postpone(["a"])
    await rig.go()
    assert (rig.refused, rig.counted()) == (["a", "b", "c"], {"refused": 3})


async def test_after_an_unforeseen_refusal_the_rest_stays(time: FakeTime) -> None:
    rig = GangRig(get=[a_list()], post=[*[b"{}"] * 4, BUDGET], patches=4)
    await rig.go()
    assert rig.asked == [*TRIED, *GONE[:4], "tell b False", "tell c False"]
    assert (rig.counted(), rig.refused) == ({"evicted": 1, "refused": 2}, ["b", "c"])
    assert rig.told["c"] == (f"; refused for now: its gang goes as a whole, and pod default/b may not go: {BUDGET}")


async def test_a_member_that_left_is_neither_tried_nor_remembered(time: FakeTime) -> None:
    def drop_b() -> bytes:
        rig.cache.drop_pod("b")
        raise BUDGET

    rig = GangRig(get=[], post=[drop_b])
    rig.lane.submit(Evict(pod, EvictionCause.PREEMPTED, WHY, "gang") for pod in rig.cache.pods.values())
    rig.cache.drop_pod("a")
    await rig.run()
    assert rig.asked == ["try b", "tell c False"]
    assert set(rig.cache.evictions.seen(0.0).lately_refused) == {"c"}


async def test_one_member_alone_and_pods_of_no_gang_are_not_tried(time: FakeTime) -> None:
    rig = GangRig(get=[], post=[b"{}"] * 3)
    a, b, c = rig.cache.pods.values()
    together = {"a": "gang", "b": "", "c": ""}
    rig.lane.submit(Evict(pod, EvictionCause.DRAINED, WHY, together[pod.uid]) for pod in (a, b, c))
    await rig.run()
    assert sorted(rig.asked) == sorted(GONE)


async def test_gangs_are_judged_one_after_the_other(time: FakeTime) -> None:
    rig = GangRig(get=[a_list(), a_list()], post=[b"{}"] * 8, patches=4)
    rig.cache.put_pod(a_released_pod("d", node="node-1"))
    gang = {"a": "one", "b": "one", "c": "two", "d": "two"}
    rig.lane.submit(Evict(pod, EvictionCause.PREEMPTED, WHY, gang[pod.uid]) for pod in rig.cache.pods.values())
    await rig.run()
    assert rig.asked == [
        *("try a", "try b", "budgets", "tell a True", "evict a", "tell b True", "evict b"),
        *("try c", "try d", "budgets", "tell c True", "evict c", "tell d True", "evict d"),
    ]

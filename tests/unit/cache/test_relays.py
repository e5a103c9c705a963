"""What a relay hands over is what a list would have brought, however much comes in between."""

from __future__ import annotations

from collections.abc import Sequence

from controller.cache.relays import Relay
from controller.kube.wire import Owned


class Versions:
    """A sink that keeps versions by name."""

    def __init__(self) -> None:
        self.now: dict[str, str] = {}

    def key(self, one: Owned) -> object:
        return one.name

    def replace(self, items: Sequence[Owned]) -> tuple[()]:
        self.now = {one.name: one.resource_version for one in items}
        return ()

    def upsert(self, item: Owned) -> None:
        self.now[item.name] = item.resource_version

    def remove(self, gone: Owned) -> None:
        self.now.pop(gone.name, None)


def an_object(name: str, version: str = "1") -> Owned:
    return Owned(name=name, resource_version=version)


NAMES = [f"o{number:03}" for number in range(250)]


def a_relay() -> tuple[Relay[Owned], Versions]:
    """One that has been given a list, a change, and the end of an object."""
    sink = Versions()
    relay: Relay[Owned] = Relay(sink)
    relay.replace([an_object(name) for name in [*NAMES, "gone"]])
    relay.upsert(an_object("o000", "2"))
    relay.remove(an_object("gone"))
    return relay, sink


def test_all_that_is_kept_is_handed_over() -> None:
    relay, first = a_relay()
    second = Versions()
    for _ in relay.hand_over(second):
        pass
    assert second.now == first.now == dict.fromkeys(NAMES, "1") | {"o000": "2"}
    relay.upsert(an_object("new"))
    assert ("new" in second.now, "new" in first.now) == (True, False)


def test_what_comes_in_between_is_not_undone() -> None:
    relay, _ = a_relay()
    second = Versions()
    parts = relay.hand_over(second)
    next(parts)
    assert len(second.now) == 100
    relay.upsert(an_object("o200", "9"))
    relay.remove(an_object("o201"))
    relay.upsert(an_object("new", "9"))
    for _ in parts:
        pass
    assert second.now == {name: "1" for name in NAMES if name != "o201"} | {"o000": "2", "o200": "9", "new": "9"}


def test_a_list_in_between_counts_alone() -> None:
    relay, _ = a_relay()
    second = Versions()
    parts = relay.hand_over(second)
    next(parts)
    relay.replace([an_object("o249", "9")])
    for _ in parts:
        pass
    assert second.now == {"o249": "9"}

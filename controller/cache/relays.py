"""What a replica that stands by keeps beside its cache, so that the cache of a leader is filled as by a list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar

from controller.cache.parts import in_parts
from controller.kube.wire import Owned

T = TypeVar("T")
Item = TypeVar("Item", contravariant=True)


class TakesKind(Protocol[Item]):
    """A sink of one kind, which knows how its objects are told apart."""

    def key(self, one: Any) -> object:
        """Return what tells an object, or its last metadata, from all others."""

    def replace(self, items: Sequence[Item]) -> Iterable[None]:
        """All there is now."""

    def upsert(self, item: Item) -> None:
        """One object is new or changed."""

    def remove(self, gone: Owned) -> None:
        """One object is gone."""


class Relay(Generic[T]):
    """Gives what comes to a sink, and keeps the latest state of each object until another sink takes its place."""

    def __init__(self, sink: TakesKind[T]) -> None:
        self._sink = sink
        self._kept: dict[object, T] = {}
        self._keeps = True

    def replace(self, items: Sequence[T]) -> Iterable[None]:
        """All there is now, in parts as the sink takes it."""
        self._kept = {self._sink.key(one): one for one in items} if self._keeps else {}
        return self._sink.replace(items)

    def upsert(self, item: T) -> None:
        """One object is new or changed."""
        key = self._sink.key(item)
        if self._keeps:
            self._kept[key] = item
        else:
            self._kept.pop(key, None)
        self._sink.upsert(item)

    def remove(self, gone: Owned) -> None:
        """One object is gone."""
        self._kept.pop(self._sink.key(gone), None)
        self._sink.remove(gone)

    def hand_over(self, sink: TakesKind[T]) -> Iterator[None]:
        """Give all that is kept to a sink of an empty cache, in parts, and all that comes from now on.

        What comes in between is newer than what is kept: that is passed over. Nothing is kept any more after this.
        """
        self._sink, self._keeps = sink, False

        def hand(key: object) -> None:
            item = self._kept.pop(key, None)
            if item is not None:
                sink.upsert(item)

        yield from in_parts(map(hand, list(self._kept)))

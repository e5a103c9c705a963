"""A resource to create in tests: whoever sends a number and a pod gets twice the number, and whose pods there are."""

from __future__ import annotations

import asyncio
from collections.abc import Set
from dataclasses import replace
from typing import Annotated, Any

from msgspec import Meta, Struct, structs

from controller.extension_api.resources import EVERYWHERE, Creation, Entry, Question, Registry, Resource


class DoublingSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """What is doubled."""

    number: Annotated[int, Meta(ge=1, le=9, description="a number from 1 to 9")]
    texts: tuple[str, ...] = ()
    pods: tuple[dict[str, Any], ...] = ()


class Doubled(Struct, frozen=True):
    """Twice the number; and whose pods there are."""

    number: int
    users: dict[str, int]


class Doubler:
    """Answers when it may; `asked` are the questions so far."""

    def __init__(self) -> None:
        self.asked: list[Question] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    def registry(self) -> Registry:
        """The API of doublings alone."""
        return Registry([self.resource()])

    def resource(self) -> Resource:
        """Doublings, which can only be created."""
        return Resource(
            plural="doublings",
            singular="doubling",
            kind="Doubling",
            is_namespaced=False,
            item=Doubled,
            create=Creation(spec=DoublingSpec, names=_names, answer=self._answer),
            redact=_redact,
        )

    async def _answer(self, question: Question) -> Entry:
        self.asked.append(question)
        await self.may_answer.wait()
        return Entry("", "", Doubled(2 * question.spec.number, {"ann": 1}), EVERYWHERE)


def _names(spec: DoublingSpec) -> frozenset[str]:
    return frozenset(str(one["namespace"]) for one in spec.pods)


def _redact(entry: Entry, seen: Set[str]) -> Entry:
    return replace(entry, row=structs.replace(entry.row, users={}))

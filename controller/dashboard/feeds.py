"""Answers that are kept current while somebody looks: each question is asked once for all who look with one identity.

The API has no watch, so it is asked once a second, and more seldom where an answer takes long, so that one who looks
keeps the controller busy for at most half of the time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, Self

import msgspec

from controller.dashboard.problems import Problem, problem
from controller.dashboard.viewers import Viewer
from controller.kube import clock
from controller.kube.errors import KubeError, UnreadableObject, one_line

PAUSE: Final = 1.0
LINGER: Final = 10.0
"""For so long a question is still asked that nobody looks at: a page that moves on to the next view comes back."""
_ANSWER_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: a path of the apiserver, and the form of the answer. Two of one name have the same form.

    `pause`: at least so many seconds lie between the beginnings of two questions.
    """

    name: str
    path: str
    decode: Callable[[bytes], Any]
    pause: float = PAUSE


class Feed:
    """The latest answer to one question, or why there is none; `version` counts both, 0: none has come."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.version = 0
        self.answer: Any = None
        self.problem: Problem | None = None
        self.asked_at = clock.monotonic()
        """When the question was sent to which there is no answer yet, or the latest one was answered."""
        self.listeners = 0
        self.unheard_since = clock.monotonic()

    async def ask(self, viewer: Viewer) -> None:
        """Ask once."""
        self.asked_at = clock.monotonic()
        try:
            body = await viewer.client.get(self.question.path, seconds=_ANSWER_SECONDS)
            self.answer, self.problem = self._read(body), None
        except KubeError as error:
            self.problem = problem(error)
        self.version += 1
        self.asked_at = clock.monotonic()

    def _read(self, body: bytes) -> Any:
        try:
            return self.question.decode(body)
        except (msgspec.MsgspecError, ValueError) as error:
            raise UnreadableObject(f"{self.question.path}: {one_line(error)}") from error

    @property
    def is_wanted(self) -> bool:
        """Whether somebody looks, or did a moment ago."""
        return self.listeners > 0 or clock.monotonic() - self.unheard_since < LINGER


class Feeds:
    """All questions that are asked; an async context manager that ends them."""

    def __init__(self) -> None:
        self._feeds: dict[tuple[str, str, str], Feed] = {}
        self._group = asyncio.TaskGroup()
        self._news = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self.is_over = False

    def end(self) -> None:
        """Let all who look go: nothing more will come."""
        self.is_over = True
        self._tell()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await self._group.__aexit__(None, None, None)

    @asynccontextmanager
    async def listen(self, viewer: Viewer, question: Question) -> AsyncIterator[Feed]:
        """Keep an answer current while the block runs."""
        key = viewer.key, question.name, question.path
        feed = self._feeds.get(key)
        if feed is None:
            feed = self._feeds[key] = Feed(question)
            task = self._group.create_task(self._keep(key, viewer, feed), name=f"feed-{question.name}")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        feed.listeners += 1
        try:
            yield feed
        finally:
            feed.listeners -= 1
            feed.unheard_since = clock.monotonic()

    @property
    def news(self) -> asyncio.Event:
        """Set when the next answer comes, to any question. Take it before you look, so that nothing is missed."""
        return self._news

    async def _keep(self, key: tuple[str, str, str], viewer: Viewer, feed: Feed) -> None:
        try:
            while feed.is_wanted:
                began = clock.monotonic()
                await feed.ask(viewer)
                self._tell()
                took = clock.monotonic() - began
                await asyncio.sleep(max(feed.question.pause - took, took))
        finally:
            del self._feeds[key]

    def _tell(self) -> None:
        """Wake all who wait, and let those who come later wait for the next answer."""
        news, self._news = self._news, asyncio.Event()
        news.set()

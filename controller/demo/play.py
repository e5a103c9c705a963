"""One run on a cluster where Penstock works: create the pods, watch them, show it, until all have ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from msgspec import Raw
from rich.console import Console
from rich.live import Live

from controller.core.keys import GROUP, VERSION
from controller.demo import display, wire
from controller.demo.asked import Moment, moment
from controller.demo.errors import DemoError
from controller.demo.observer import Observer
from controller.demo.picture import Picture
from controller.demo.world import Body, DemoSetup
from controller.kube import clock
from controller.kube.client import Client
from controller.kube.watch import Informer, Trouble
from controller.sandbox import SandboxError

_AT_ONCE = 8
_FRAME_SECONDS = 0.25
_LINE_SECONDS = 2.0
_GUARD_SECONDS = 3.0
_OURS = f"/apis/{GROUP}/{VERSION}"

T = TypeVar("T", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What to run and how. `check` raises SandboxError when a program of ours has ended; `deadline` is in seconds."""

    world: DemoSetup
    pods: Sequence[Body]
    deadline: float
    check: Callable[[], Awaitable[None]]


async def play(client: Client, run: Run, console: Console) -> tuple[Observer, Moment | None]:
    """Create all pods and show what becomes of them; return when all have ended or the deadline has passed.

    The moment is that in the middle, None where it did not come or could not be recorded.

    Raises KubeError when a pod cannot be created, and DemoError when Penstock has ended.
    """
    observer = Observer(run.world, len(run.pods), clock.monotonic)
    informers = _informers(client, observer)
    try:
        async with asyncio.TaskGroup() as group:
            background = [group.create_task(one.run(), name=f"watch-{one.resource}") for one in informers]
            for informer in informers:
                await informer.synced.wait()
            observer.begin()
            background.append(group.create_task(_create(client, run.pods), name="create"))
            background.append(group.create_task(_guard(run), name="guard"))
            recording = group.create_task(moment(client, observer), name="moment")
            await _show(console, observer, run.deadline)
            for task in (*background, recording):
                task.cancel()
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return observer, recording.result() if recording.done() and not recording.cancelled() else None


async def _create(client: Client, pods: Sequence[Body]) -> None:
    """Create the pods in their order, a few at a time."""
    waiting = iter(pods)

    async def work() -> None:
        for pod in waiting:
            await client.post(f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods", pod)

    try:
        async with asyncio.TaskGroup() as group:
            for number in range(_AT_ONCE):
                group.create_task(work(), name=f"create-{number}")
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None


async def _guard(run: Run) -> None:
    """Notice soon when Penstock itself has ended, rather than at the deadline."""
    while True:
        await asyncio.sleep(_GUARD_SECONDS)
        try:
            await run.check()
        except SandboxError as error:
            what, *log = str(error).splitlines()
            words = f"; the last line of its log: {log[-1]}" if log else ""
            raise DemoError(what.rstrip(":") + words) from error


async def _show(console: Console, observer: Observer, deadline: float) -> None:
    if not console.is_interactive:
        async for picture in _pictures(observer, deadline, _LINE_SECONDS):
            console.print(display.line(picture), soft_wrap=True, highlight=False)
        return
    with Live(console=console, auto_refresh=False, transient=True) as live:
        async for picture in _pictures(observer, deadline, _FRAME_SECONDS):
            live.update(display.render(picture, console.height), refresh=True)


async def _pictures(observer: Observer, deadline: float, pause: float) -> AsyncIterator[Picture]:
    """Yield a picture every `pause` seconds, and a last one when it is over or too late."""
    shown_at = -pause
    while not observer.is_over and observer.elapsed < deadline:
        if observer.elapsed >= shown_at + pause:
            shown_at = observer.elapsed
            yield observer.picture()
        await asyncio.sleep(min(pause, _FRAME_SECONDS))
    yield observer.picture()


class _Feed:
    """Hands every object of a watch to one function; what is deleted has been seen before."""

    def __init__(self, see: Callable[[Any], None]) -> None:
        self._see = see

    def replace(self, items: list[Any]) -> None:
        """See all there are."""
        for item in items:
            self._see(item)

    def upsert(self, item: Any) -> None:
        """See one."""
        self._see(item)

    def remove(self, gone: Any) -> None:
        """Nothing: the demo deletes only when it is over."""


def _informers(client: Client, observer: Observer) -> list[Informer[Any]]:
    world = observer.world

    def informer(path: str, kind: type[T], see: Callable[[T], None], selector: str | None) -> Informer[Any]:
        decoder = msgspec.json.Decoder(kind)

        def decode(raw: Raw) -> T:
            return decoder.decode(raw)

        return Informer(client, path, decode=decode, sink=_Feed(see), report=report, selector=selector)

    def report(trouble: Trouble) -> None:
        observer.trouble = f"watching {trouble.resource}: {trouble.text}"

    return [
        informer("/api/v1/pods", wire.PodObject, observer.see_pod, world.selector),
        informer(f"{_OURS}/clusterqueues", wire.QueueObject, observer.see_queue, world.selector),
        *(
            informer(f"/api/v1/namespaces/{world.named(team.name)}/events", wire.EventObject, observer.see_event, None)
            for team in world.teams
        ),
    ]

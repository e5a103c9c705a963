"""Starts a supervisor and waits until its sandbox is ready; ends sandboxes, running or crashed.

Everything here goes by name and by the state file, so that another process than the one that started a sandbox can
end it.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

import controller
from controller.kube import clock
from controller.sandbox.errors import SandboxError
from controller.sandbox.files import PRIVATE_FILE, make_private_folder
from controller.sandbox.layout import Layout
from controller.sandbox.process import ProcessId
from controller.sandbox.spec import Phase, Spec, State, check_spec, load_state, names, save_spec

_START_SECONDS = 300.0
_STOP_SECONDS = 15.0
_POLL_SECONDS = 0.05
_OWNER_FD = 3


@dataclass(frozen=True, slots=True)
class Running:
    """A supervisor that this process started. `owner` is our end of the pipe of a tied one."""

    layout: Layout
    process: ProcessId
    owner: int | None


async def start(spec: Spec, *, binaries: Mapping[str, str], tied: bool) -> tuple[Running, State]:
    """Start a sandbox and wait until it is ready; one that dies with this process if `tied`.

    Raises SandboxError with the end of the failing component's log. Nothing is left behind when it fails to start
    as tied, or is cancelled; an untied one that failed keeps its logs.
    """
    layout = Layout.of(check_spec(spec).name)
    with _exclusive(layout):
        await _clear(layout)
        running = _spawn(layout, msgspec.structs.replace(spec, binaries=dict(binaries)), tied=tied)
        try:
            return running, await _until_ready(running)
        except SandboxError:
            if tied:
                await stop(running)
            raise
        except BaseException:
            # Ctrl-C in the middle of a start
            await asyncio.shield(stop(running))
            raise


async def stop(running: Running) -> None:
    """End a sandbox that this process started, and delete its folder."""
    if running.owner is not None:
        os.close(running.owner)
    running.process.send(signal.SIGTERM)
    deadline = clock.monotonic() + _STOP_SECONDS
    while not _reaped(running.process.pid):
        if clock.monotonic() > deadline:
            running.process.send(signal.SIGKILL)
        await asyncio.sleep(_POLL_SECONDS)
    await _clear(running.layout)


async def remove(name: str) -> bool:
    """End the sandbox called `name`, whoever started it, and delete its folder; False when there is none."""
    layout = Layout.of(name)
    if not layout.folder.is_dir():
        return False
    await _clear(layout)
    return True


def running_state(name: str) -> State:
    """State of a sandbox that is up; SandboxError when there is none of this name, or it is not up."""
    state = load_state(Layout.of(name))
    if state is None:
        known = ", ".join(names()) or "none"
        start_it = f"start it with `penstock sandbox up --name {name}`"
        raise SandboxError(f"no sandbox named {name!r} (there are: {known}); {start_it}")
    if not is_up(state):
        again = f"start it again with `penstock sandbox up --name {name}`"
        raise SandboxError(f"sandbox {name!r} is not running ({first_line(state) or 'it crashed'}); {again}")
    return state


def is_up(state: State) -> bool:
    """Whether its supervisor and all components run and it was ready once."""
    processes = [state.supervisor, *(component.process for component in state.components)]
    return state.phase is Phase.READY and all(process.alive() for process in processes)


def first_line(state: State) -> str:
    """Why it failed, without the log."""
    return state.message.partition("\n")[0]


@contextmanager
def _exclusive(layout: Layout) -> Iterator[None]:
    """Hold the name, so that two starts of one name do not meet."""
    lock = layout.folder.with_name(f".{layout.folder.name}.lock")
    handle = _hold(lock)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(handle)


def _hold(lock: Path) -> int:
    while True:
        try:
            make_private_folder(lock.parent)
            handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
        except OSError as error:
            raise _not_writable(lock, error) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # the one before us may have deleted the file between our opening and locking it
            if lock.exists() and os.path.samestat(lock.stat(), os.fstat(handle)):
                return handle
        except OSError as error:
            os.close(handle)
            name = lock.stem.removeprefix(".")
            raise SandboxError(f"sandbox {name!r} is being started by another process; wait for it") from error
        os.close(handle)


def _not_writable(path: Path, error: OSError) -> SandboxError:
    return SandboxError(f"{path}: {error.strerror}; set XDG_STATE_HOME to a folder you can write to")


def _spawn(layout: Layout, spec: Spec, *, tied: bool) -> Running:
    try:
        make_private_folder(layout.logs)
        save_spec(layout, spec)
    except OSError as error:
        raise _not_writable(layout.folder, error) from error
    # -P and PYTHONPATH: our own package, never a folder of that name in the current directory
    arguments = [sys.executable, "-P", "-m", "controller.sandbox.supervisor", str(layout.folder)]
    environment = {**os.environ, "PYTHONPATH": str(Path(controller.__file__).parent.parent)}
    log = str(layout.log("supervisor"))
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE_FILE),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    if not tied:
        pid = os.posix_spawn(sys.executable, arguments, environment, file_actions=actions, setsid=True)
        return Running(layout, ProcessId.of(pid), None)
    reader, writer = os.pipe()
    try:
        actions.append((os.POSIX_SPAWN_DUP2, reader, _OWNER_FD))
        arguments.append(str(_OWNER_FD))
        pid = os.posix_spawn(sys.executable, arguments, environment, file_actions=actions, setsid=True)
    finally:
        os.close(reader)
    return Running(layout, ProcessId.of(pid), writer)


async def _until_ready(running: Running) -> State:
    deadline = clock.monotonic() + _START_SECONDS
    while clock.monotonic() < deadline:
        ended = _reaped(running.process.pid)
        state = load_state(running.layout)
        if state is not None and state.phase is Phase.READY:
            return state
        if ended:
            raise _ended_early(running.layout, state)
        await asyncio.sleep(_POLL_SECONDS)
    raise SandboxError(f"not ready after {_START_SECONDS:.0f} s; logs are in {running.layout.logs}")


def _ended_early(layout: Layout, state: State | None) -> SandboxError:
    name = layout.folder.name
    if state is not None and state.phase is Phase.FAILED:
        return SandboxError(f"sandbox {name!r}: {state.message}")
    log = layout.log("supervisor")
    if not log.exists() or (state is not None and state.phase is Phase.STOPPING):
        return SandboxError(f"sandbox {name!r} was ended from elsewhere while it started")
    tail = log.read_text(errors="replace").strip().splitlines()[-1:]
    return SandboxError(
        f"sandbox {name!r}: its supervisor ended early: {' '.join(tail) or 'it was killed'} (log: {log})"
    )


async def _clear(layout: Layout) -> None:
    """End what still runs of a sandbox and delete its folder."""
    state = load_state(layout)
    if state is not None:
        state.supervisor.send(signal.SIGTERM)
        deadline = clock.monotonic() + _STOP_SECONDS
        while state.supervisor.alive() and clock.monotonic() < deadline:  # noqa: ASYNC110 - another process ends
            await asyncio.sleep(_POLL_SECONDS)
        for process in (state.supervisor, *(component.process for component in state.components)):
            process.send(signal.SIGKILL)
    try:
        shutil.rmtree(layout.folder)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise SandboxError(f"{error.filename}: {error.strerror}; remove {layout.folder} by hand") from error


def _reaped(pid: int) -> bool:
    """Whether our child has ended; takes its exit status, so that no zombie stays."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True

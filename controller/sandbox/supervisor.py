"""The process that owns the components of one sandbox: `python -m controller.sandbox.supervisor FOLDER [FD]`.

It starts them in order, publishes what runs in the state file, watches them, and ends them in reverse order when it
is told to, when one of them dies, or when its owner goes away: then the pipe FD, whose other end the owner holds,
reaches its end, and the folder is deleted too. One thread and no event loop, since children die with the thread that
started them. Whoever asks for a sandbox uses `launch`, not this.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from controller.kube import clock
from controller.sandbox.certificates import write_certificates, write_kubeconfigs
from controller.sandbox.components import AUDIT_POLICY, Component, Ports, apiserver_url, in_order, of_operators
from controller.sandbox.errors import SandboxError
from controller.sandbox.files import make_private_folder, write_private
from controller.sandbox.layout import Layout
from controller.sandbox.operator_setup import prepare
from controller.sandbox.operators import chosen
from controller.sandbox.probe import trouble
from controller.sandbox.process import ProcessId, spawn
from controller.sandbox.spec import ComponentState, Phase, Spec, State, load_spec, save_state

# a disk that hangs has kept a new etcd without a leader for a minute: start again, and wait longer, before giving up
READY_SECONDS = (45.0, 90.0, 90.0)
_GRACE_SECONDS = 5.0
_POLL_SECONDS = 0.05
_WATCH_SECONDS = 0.5
_TAIL_LINES = 15
_PORT_TAKEN = "address already in use"


class _Stop(Exception):
    """Somebody wants the sandbox to end: a signal, or the owner is gone."""


class _Failed(Exception):
    """A component died or did not become ready; the text is for people."""


class _StartAgain(_Failed):
    """A component found its port taken by another program, or was not ready in time."""


class Supervisor:
    """Owns the children of one sandbox from start to end."""

    def __init__(self, layout: Layout, owner: int | None) -> None:
        self._layout = layout
        self._owner = owner
        self._spec: Spec = load_spec(layout)
        self._wake, self._waker = os.pipe()
        self._children: list[tuple[Component, subprocess.Popen[bytes]]] = []
        self._me = ProcessId.of(os.getpid())
        self._started = clock.now()
        self._url = ""

    def run(self) -> int:
        """Run the sandbox to its end; 0 when it was asked to end."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        message = ""
        try:
            self._publish(Phase.STARTING)
            self._start()
            self._publish(Phase.READY)
            self._watch()
        except _Stop:
            self._publish(Phase.STOPPING)
        except _Failed as failure:
            message = str(failure)
        except OSError as error:
            message = f"{error.filename or self._layout.folder}: {error.strerror}"
        self._end_children()
        if self._owner is not None:
            self._leave_nothing(message)
        if message:
            self._publish(Phase.FAILED, message)
        return 1 if message else 0

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        os.write(self._waker, b"!")

    def _start(self) -> None:
        write_certificates(self._layout, now=clock.now())
        if self._spec.audit:
            write_private(self._layout.audit_policy, AUDIT_POLICY)
            write_private(self._layout.audit_log, b"")
        *earlier, last = READY_SECONDS
        for seconds in earlier:
            try:
                return self._start_on(self._ports(), seconds)
            except _StartAgain:
                self._end_children()
                shutil.rmtree(self._layout.data, ignore_errors=True)
        return self._start_on(self._ports(), last)

    def _ports(self) -> Ports:
        return Ports.free(operators=len(chosen(self._spec.operators)))

    def _start_on(self, ports: Ports, seconds: float) -> None:
        self._url = apiserver_url(ports)
        write_kubeconfigs(self._layout, self._url)
        etcd, apiserver, others = in_order(self._spec, self._layout, ports)
        self._run(etcd, seconds)
        self._run(apiserver, seconds)
        # before the garbage collector starts: a kind that comes later is not deleted with its owner for half a minute
        operators = self._prepare_operators(ports, seconds)
        self._run(others, seconds)
        # pods are refused until their namespace has this account, which a controller makes
        account = f"{self._url}/api/v1/namespaces/default/serviceaccounts/default"
        self._wait("kube-controller-manager", account, seconds)
        self._run(operators, seconds)

    def _run(self, step: Sequence[Component], seconds: float) -> None:
        """Start the components of one step, and wait until all of them are ready."""
        for component in step:
            self._spawn(component)
        for component in step:
            self._wait(component.name, component.health_url, seconds)

    def _prepare_operators(self, ports: Ports, seconds: float) -> list[Component]:
        found = of_operators(self._spec, self._layout, ports)
        for operator, component in found:
            try:
                served = prepare(operator, component.arguments[0], self._layout, self._url)
            except SandboxError as error:
                raise _Failed(f"{component.name}: {error}") from error
            for url in served:
                self._wait("kube-apiserver", url, seconds)
        return [component for _, component in found]

    def _spawn(self, component: Component) -> None:
        log = self._layout.log(component.name)
        # no proxy settings, tokens or Go flags of the caller reach the components; pod.yaml counts on UTC
        environment = {"PATH": os.defpath, "HOME": str(self._layout.folder), "TZ": "UTC"}
        child = spawn(component.arguments, log=log, folder=self._layout.folder, environment=environment)
        self._children.append((component, child))
        self._publish(Phase.STARTING)

    def _wait(self, name: str, url: str, seconds: float) -> None:
        deadline = clock.monotonic() + seconds
        admin = self._layout.pki / "admin"
        while (why := trouble(url, ca=self._layout.ca, client=admin)) is not None:
            if clock.monotonic() > deadline:
                raise _StartAgain(f"{name} is not ready after {seconds:.0f} s: {why}\n{self._tail(name)}")
            self._pause(_POLL_SECONDS)

    def _watch(self) -> None:
        while True:
            self._pause(_WATCH_SECONDS)

    def _pause(self, seconds: float) -> None:
        """Wait; raise _Stop when asked to end, _Failed when a child has ended."""
        watched = [self._wake] if self._owner is None else [self._wake, self._owner]
        readable, _, _ = select.select(watched, [], [], seconds)
        if readable:
            raise _Stop
        for component, child in self._children:
            if child.poll() is not None:
                raise self._death(component.name, child.returncode)

    def _death(self, name: str, code: int) -> _Failed:
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        tail = self._tail(name)
        kind = _StartAgain if _PORT_TAKEN in tail else _Failed
        return kind(f"{name} {how}\n{tail}")

    def _tail(self, name: str) -> str:
        log = self._layout.log(name)
        lines = log.read_text(errors="replace").splitlines()[-_TAIL_LINES:] if log.exists() else []
        # the logs of a tied sandbox go with it
        where = log if self._owner is None else f"the log of {name}"
        return "\n".join([f"last lines of {where}:", *(f"  {line[:400]}" for line in lines)])

    def _end_children(self) -> None:
        """End the children in reverse order: ask, wait for a moment, then make sure."""
        deadline = clock.monotonic() + _GRACE_SECONDS
        while self._children:
            _, child = self._children.pop()
            child.terminate()
            try:
                child.wait(max(0.1, deadline - clock.monotonic()))
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()

    def _leave_nothing(self, message: str) -> None:
        """Delete the folder of a sandbox that ends with its owner, unless the owner still wants to read why."""
        if not message or self._owner_is_gone():
            shutil.rmtree(self._layout.folder, ignore_errors=True)

    def _owner_is_gone(self) -> bool:
        return self._owner is not None and bool(select.select([self._owner], [], [], 0)[0])

    def _publish(self, phase: Phase, message: str = "") -> None:
        if not self._layout.folder.exists():
            return
        components = [
            ComponentState(component.name, ProcessId.of(child.pid), component.health_url)
            for component, child in self._children
        ]
        state = State(
            name=self._spec.name,
            phase=phase,
            supervisor=self._me,
            started=self._started,
            tied=self._owner is not None,
            url=self._url,
            components=components,
            message=message,
        )
        save_state(self._layout, state)


def main(arguments: list[str]) -> int:
    """Run the sandbox whose folder is the first argument."""
    layout = Layout(Path(arguments[0]))
    make_private_folder(layout.logs)
    return Supervisor(layout, int(arguments[1]) if len(arguments) > 1 else None).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Starting and ending sandboxes by the command line: several at once, crashes, interrupts, and nothing left behind."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from controller.sandbox import Sandbox, SandboxError, binaries
from controller.sandbox.layout import Layout
from controller.sandbox.process import ProcessId
from controller.sandbox.spec import Phase, Spec, load_state, save_spec
from tests.support.eventually import eventually
from tests.support.kubernetes import POD_GROUP_GATES, POD_GROUPS, VERSION
from tests.support.sandbox import CommandLine

pytestmark = pytest.mark.integration


@pytest.fixture
def penstock(tmp_path: Path) -> Iterator[CommandLine]:
    line = CommandLine(tmp_path)
    yield line
    line.run("sandbox", "down", "--all")


def state(penstock: CommandLine, name: str) -> Any:
    return orjson.loads((penstock.folder(name) / "state.json").read_bytes())


async def nothing_runs(penstock: CommandLine) -> None:
    await eventually(lambda: not penstock.processes(), message="processes stay")


async def test_two_sandboxes_run_at_once_and_go(penstock: CommandLine) -> None:
    first = penstock.start("sandbox", "up", "--name", "one", "--nodes", "2")
    assert penstock.run("sandbox", "up", "--name", "two", "--nodes", "0", "--audit").code == 0
    _, err = first.communicate(timeout=180)
    assert first.returncode == 0, err
    again = penstock.run("sandbox", "up", "--name", "one")
    assert (again.code, "already up" in again.out) == (0, True), again
    other = penstock.run("sandbox", "up", "--name", "one", "--audit")
    assert (other.code, "other settings" in other.err) == (1, True), other

    reports = orjson.loads(penstock.run("sandbox", "status", "--output", "json").out)
    assert [(one["name"], one["phase"], one["nodes"]) for one in reports] == [("one", "Ready", 2), ("two", "Ready", 0)]
    assert set(reports[0]["components"].values()) == {"ok"}
    assert "https://127.0.0.1:" in penstock.run("sandbox", "status").out
    env = penstock.run("sandbox", "env", "--name", "two").out
    assert env == f"export KUBECONFIG={penstock.folder('two') / 'kubeconfig'}\n"
    unknown = penstock.run("sandbox", "env", "--name", "three")
    assert (unknown.code, "there are: one, two" in unknown.err) == (1, True), unknown

    assert penstock.run("sandbox", "nodes", "add", "--name", "two", "--shape", "gpu").out == "added node gpu-0\n"
    assert penstock.run("sandbox", "down", "--name", "one").code == 0
    assert penstock.run("sandbox", "down", "--name", "one").code == 0
    assert penstock.run("sandbox", "down", "--all").out == "sandbox 'two' is gone\n"
    await nothing_runs(penstock)
    assert list(penstock.folder("one").parent.iterdir()) == []


async def test_a_killed_supervisor_leaves_nothing_and_up_starts_anew(penstock: CommandLine) -> None:
    penstock.run("sandbox", "up", "--nodes", "0")
    killed = state(penstock, "default")["supervisor"]
    ProcessId(**killed).send(signal.SIGKILL)
    await nothing_runs(penstock)
    assert "Crashed" in penstock.run("sandbox", "status").out
    assert penstock.run("sandbox", "up", "--nodes", "0").code == 0
    assert state(penstock, "default")["supervisor"] != killed


async def test_a_component_that_dies_ends_the_sandbox_which_says_so(penstock: CommandLine) -> None:
    penstock.run("sandbox", "up", "--nodes", "0")
    components = {one["name"]: one["process"] for one in state(penstock, "default")["components"]}
    ProcessId(**components["kube-scheduler"]).send(signal.SIGKILL)
    await nothing_runs(penstock)
    answer = penstock.run("sandbox", "env")
    assert "kube-scheduler was killed by SIGKILL" in answer.err, answer
    assert "kube-scheduler was killed by SIGKILL" in penstock.run("sandbox", "status").out


@pytest.mark.parametrize("moment", ["kube-apiserver", "kwok"])
async def test_an_interrupted_start_leaves_nothing(penstock: CommandLine, moment: str) -> None:
    starting = penstock.start("sandbox", "up", "--nodes", "1")
    await eventually(lambda: moment in penstock.processes(), seconds=150, message=f"{moment} does not start")
    starting.send_signal(signal.SIGINT)
    _, err = await asyncio.to_thread(starting.communicate, timeout=90)
    assert starting.returncode == 130, err
    assert "Traceback" not in err
    await nothing_runs(penstock)
    assert not penstock.folder("default").exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGKILL, -9)])
async def test_a_foreground_sandbox_ends_with_its_command(
    penstock: CommandLine, number: signal.Signals, code: int
) -> None:
    staying = penstock.start("sandbox", "up", "--nodes", "0", "--foreground")
    assert staying.stdout is not None
    assert "is up" in await asyncio.to_thread(staying.stdout.readline)
    staying.send_signal(number)
    await asyncio.to_thread(staying.communicate, timeout=90)
    assert staying.returncode == code
    await nothing_runs(penstock)
    await eventually(lambda: not penstock.folder("default").exists(), message="the folder stays")


async def test_an_unknown_feature_gate_is_told_by_the_component(penstock: CommandLine) -> None:
    answer = penstock.run("sandbox", "up", "--feature-gates", "Nope=true")
    assert answer.code == 1
    assert "kube-apiserver ended with exit code 1" in answer.err
    assert "unrecognized feature gate: Nope" in answer.err
    assert "Traceback" not in answer.err
    await nothing_runs(penstock)


_FIRST_PORTS_TAKEN = """
import dataclasses, socket
from controller.sandbox import supervisor
from controller.sandbox.components import Ports

free, taken = Ports.free, socket.create_server(("127.0.0.1", 0))
bad = dataclasses.replace(free(), scheduler=taken.getsockname()[1])
answers = iter([bad, free()])
supervisor.Ports.free = lambda operators: next(answers)
supervisor.main([FOLDER])
"""

_FIRST_ETCD_HANGS = """
import time
from controller.sandbox import supervisor

trouble, begun = supervisor.trouble, time.monotonic()
hangs = lambda: "answers 503" if time.monotonic() - begun < 2 else None
supervisor.trouble = lambda *asked, **also: hangs() or trouble(*asked, **also)
supervisor.READY_SECONDS = (1.0, 90.0)
supervisor.main([FOLDER])
"""


@contextmanager
def supervising(program: str) -> Iterator[None]:
    with subprocess.Popen([sys.executable, "-c", program]) as supervisor:
        try:
            yield
        finally:
            supervisor.terminate()


def planned(name: str) -> Layout:
    """Folder of a sandbox that a supervisor can start."""
    layout = Layout.of(name)
    layout.logs.mkdir(parents=True)
    save_spec(layout, Spec(name=name, kubernetes=VERSION, binaries=binaries.ensure(kubernetes=VERSION)))
    return layout


async def comes_up(layout: Layout, program: str) -> None:
    def is_ready() -> bool:
        state = load_state(layout)
        assert state is not None
        assert state.phase is Phase.READY, state
        return True

    with supervising(program.replace("FOLDER", repr(str(layout.folder)))):
        await eventually(is_ready, seconds=150, message="no second try")


async def test_a_port_that_somebody_takes_before_us_means_another_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    layout = planned("port")
    await comes_up(layout, _FIRST_PORTS_TAKEN)
    assert "address already in use" in layout.log("kube-scheduler").read_text()


async def test_a_component_that_hangs_means_another_try(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    layout = planned("slow")
    await comes_up(layout, _FIRST_ETCD_HANGS)
    assert layout.log("etcd").read_text().count("simple token is not") == 2, "one etcd for each try"


async def test_pod_groups_of_kubernetes_can_be_switched_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    gates = dict.fromkeys(POD_GROUP_GATES, True)
    async with Sandbox.start(
        kubernetes=VERSION, name="gang", feature_gates=gates, runtime_config={POD_GROUPS: True}
    ) as sandbox:
        assert sandbox.folder == Layout.of("gang").folder
        async with sandbox.client() as client:
            group = {"metadata": {"name": "group"}, "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}}
            path = f"/apis/{POD_GROUPS}/namespaces/default/podgroups"
            made = orjson.loads(await client.post(path, group))
            assert made["spec"]["schedulingPolicy"] == {"gang": {"minCount": 2}}
        with pytest.raises(SandboxError, match="keeps no audit log"):
            _ = sandbox.audit_log
    assert not sandbox.folder.exists()

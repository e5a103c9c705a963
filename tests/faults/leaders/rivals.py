"""Controllers that a test starts, pauses and kills; and how many pods got through the gate."""

from __future__ import annotations

from pathlib import Path

from controller.core.keys import QUEUE_NAME
from controller.kube.client import Client
from controller.sandbox.installation import CONTROLLER_ACCOUNT, NAMESPACE
from controller.sandbox.programs import Program
from tests.support.apiserver_proxy import Held, Matches, Request
from tests.support.eventually import eventually
from tests.support.leaders import delete_lease
from tests.support.team import Team, is_gated

_LEASE_SECONDS = "12"
"""Tests wait until it ends; a machine that was held up for 4 s must not end it."""


class Rivals:
    """By the names that the test gives them."""

    def __init__(self, client: Client, folder: Path, disturbed: Path, kubeconfigs: Path) -> None:
        self._client = client
        self._folder = folder
        self._disturbed = disturbed
        self.kubeconfig = kubeconfigs / f"{NAMESPACE}.{CONTROLLER_ACCOUNT}"
        self._programs: list[Program] = []

    async def start(
        self, name: str, *, is_disturbed: bool = False, is_warm: bool = False, by: Path | None = None
    ) -> Program:
        """Start one; it stands by, or leads already, when this returns. `is_warm`: it knows the cluster meanwhile."""
        kubeconfig = by or (self._disturbed if is_disturbed else self.kubeconfig)
        arguments = ["--kubeconfig", str(kubeconfig), "--http-address", "127.0.0.1:0", "--identity", name]
        arguments += ["--visibility-address", "127.0.0.1:0"] if is_warm else []
        program = Program("controller", [*arguments, "--lease-seconds", _LEASE_SECONDS], self._folder / name)
        self._programs.append(program)
        program.start()
        await program.wait_ready()
        return program

    async def end(self) -> None:
        for program in self._programs:
            program.kill()
        await delete_lease(self._client)


def is_release(name: str) -> Matches:
    """The release patch of this pod."""
    return lambda one: _is_patch(one, name) and b"/spec/schedulingGates/0" in one.body


def is_revocation(name: str) -> Matches:
    return lambda one: _is_patch(one, name) and b"revoked-by" in one.body


def _is_patch(one: Request, name: str) -> bool:
    return one.method == "PATCH" and one.path.partition("?")[0].endswith(f"/pods/{name}")


async def until_held(held: list[Held], count: int = 1) -> Held:
    """Wait until so many requests are held; return the last of these."""
    await eventually(lambda: len(held) >= count, message="nothing was sent")
    return held[count - 1]


async def open_queue(team: Team) -> None:
    """Let the team's queue admit."""
    await team.change("clusterqueues", team.full("cq"), {"stopPolicy": "None"})


async def released(team: Team) -> set[str]:
    """Which pods of the team's queue `main` got through the gate: not those by which `Team.visited` asks."""
    pods = (await team.all()).items()
    return {name for name, pod in pods if pod["metadata"]["labels"][QUEUE_NAME] == "main" and not is_gated(pod)}


async def until_released(team: Team, *names: str) -> None:
    async def are() -> bool:
        assert await released(team) == set(names)
        return True

    await eventually(are, seconds=60, message=f"not just {names} came through the gate")

"""A cluster with work that runs and work that waits, and what must be true of both at every moment."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from controller.core.keys import QUEUE_NAME
from controller.sandbox import Sandbox
from tests.support.eventually import eventually
from tests.support.installers import Terminal
from tests.support.team import Team, is_gated

Json = dict[str, Any]
_QUOTA = 3
_PODS = 5
_JOBS = 2
_SECONDS = 120


@dataclass
class Site:
    """One cluster, its team, and a terminal in a folder; `previous` is a folder with the files of the last release."""

    sandbox: Sandbox
    team: Team
    terminal: Terminal
    previous: Path
    previous_version: str
    _ran: dict[str, str] = field(default_factory=dict)
    _made: int = 0

    async def ready(self) -> None:
        """Wait until the programs of the installation are available and the kinds are served."""
        await self.terminal.succeed(
            "kubectl -n penstock-system wait deployment --all --for=condition=Available --timeout=3m"
        )
        for name in orjson.loads(await self.terminal.succeed("kubectl -n penstock-system get deployments -o json"))[
            "items"
        ]:
            await self.terminal.succeed(
                f"kubectl -n penstock-system rollout status deployment/{name['metadata']['name']} --timeout=3m"
            )

    async def begin(self) -> None:
        """Open the team, and fill its quota with pods and Jobs; as many wait."""
        team = self.team
        await team.open()
        await team.ready({"spot": {"cpu": _QUOTA}})
        await eventually(self._gates, seconds=_SECONDS, message="pods of the queue do not get the gate")
        for number in range(_PODS):
            await team.pod(f"pod-{number}")
        for number in range(_JOBS):
            await self._job(f"job-{number}")
        await eventually(self._is_full, seconds=_SECONDS, message="the quota is not filled")
        self._ran = await self._running()

    async def goes_on(self) -> None:
        """Nothing that ran has ended, nothing that waits got by; then one ends, and the next runs."""
        now = await self._running()
        assert {name: now.get(name) for name in self._ran} == self._ran
        assert len(now) == _QUOTA
        await self.team.delete(next(name for name in now if not name.startswith("job")))
        await eventually(self._is_full, seconds=_SECONDS, message="nothing follows a pod that ended")
        self._ran = await self._running()
        self._made += 1
        assert is_gated(await self.team.pod(f"new-{self._made}"))

    async def waiting(self) -> list[str]:
        """The names of pods at the gate."""
        return [name for name, pod in (await self.team.all()).items() if is_gated(pod)]

    async def all_run(self) -> None:
        """Wait until every pod runs, those of Jobs too."""

        async def run() -> bool:
            pods = await self.team.all()
            held = [one["metadata"]["name"] for one in await self._jobs() if one["spec"].get("suspend")]
            waiting = {name: pod["status"] for name, pod in pods.items() if not pod["spec"].get("nodeName")}
            assert (held, waiting) == ([], {}), (held, waiting)
            return True

        await eventually(run, seconds=_SECONDS, message="what waited does not run")

    async def _gates(self) -> bool:
        return is_gated(await self.team.pod("probe", params={"dryRun": "All"}))

    async def _is_full(self) -> bool:
        return len(await self._running()) == _QUOTA

    async def _running(self) -> dict[str, str]:
        pods = await self.team.all()
        return {name: pod["metadata"]["uid"] for name, pod in pods.items() if pod["spec"].get("nodeName")}

    async def _job(self, name: str) -> None:
        """Create a Job that is held as a whole."""
        container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
        template = {
            "metadata": {"annotations": {"run-for": "1h"}},
            "spec": {"restartPolicy": "Never", "containers": [container]},
        }
        body = {"metadata": {"name": name, "labels": {QUEUE_NAME: "main"}}, "spec": {"template": template}}
        await self.team.client.post(self._jobs_path, body)

    async def _jobs(self) -> list[Json]:
        return list(orjson.loads(await self.team.client.get(self._jobs_path))["items"])

    @property
    def _jobs_path(self) -> str:
        return f"/apis/batch/v1/namespaces/{self.team.namespace}/jobs"

"""What a script does to the controllers and in the cluster. Whatever lasts is taken back at its end."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path

from controller.core.keys import PRIORITY_CLASS
from controller.kube.client import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH
from controller.kube.errors import NotFound
from tests.faults.seeds.controllers import Controllers
from tests.faults.seeds.history import History
from tests.faults.seeds.ledger import is_over
from tests.faults.seeds.script import Deed, Moment
from tests.faults.seeds.world import FLAVORS, QUOTAS
from tests.support.leaders import delete_lease
from tests.support.refusing import releases_refused
from tests.support.team import Json, Team, is_gated

_JUMPS = (-7200, -300, -5, 5, 300, 7200)


class Deeds:
    """On one team's corner of a cluster."""

    def __init__(self, team: Team, controllers: Controllers, history: History, clock: Path, seed: int) -> None:
        self._team = team
        self._controllers = controllers
        self._history = history
        self._clock = clock
        self._chance = random.Random(f"deeds {seed}")  # noqa: S311 - repeatable, not unpredictable
        self._urgent = 0
        self._acts: Mapping[Deed, Callable[[Moment], Awaitable[None]]] = {
            Deed.KILL: lambda _: controllers.kill(),
            Deed.STOP: lambda _: controllers.stop(),
            Deed.PAUSE: lambda moment: controllers.pause(moment.seconds),
            Deed.DELETE_LEASE: lambda _: delete_lease(team.client),
            Deed.CORDON: self._cordon,
            Deed.NOT_READY: self._not_ready,
            Deed.QUOTA: lambda _: self._quota(),
            Deed.URGENT: lambda _: self._come_urgently(),
            Deed.NAMESAKE: lambda _: self._replace(),
            Deed.CLOCK: lambda _: self._jump(),
            Deed.REFUSED: self._refuse,
        }

    async def _jump(self) -> None:
        await asyncio.to_thread(self._clock.write_text, str(self._chance.choice(_JUMPS)))

    async def do(self, moment: Moment) -> None:
        """Carry one out; return when it is over."""
        await self._acts[moment.deed](moment)

    def _node(self) -> str:
        return f"/api/v1/nodes/{self._team.full(self._chance.choice(FLAVORS))}-0"

    async def _cordon(self, moment: Moment) -> None:
        path = self._node()
        await self._team.client.patch(path, {"spec": {"unschedulable": True}}, content_type=MERGE_PATCH)
        await asyncio.sleep(moment.seconds)
        await self._team.client.patch(path, {"spec": {"unschedulable": None}}, content_type=MERGE_PATCH)

    async def _not_ready(self, moment: Moment) -> None:
        path = f"{self._node()}/status"
        for status in ("False", "True"):
            conditions = [{"type": "Ready", "status": status, "reason": "Test", "message": "a fault"}]
            await self._team.client.patch(path, {"status": {"conditions": conditions}}, content_type=STRATEGIC_PATCH)
            await asyncio.sleep(moment.seconds if status == "False" else 0)

    async def _quota(self) -> None:
        quota = [
            {"op": "replace", "path": "/spec/flavors/0/resources/0/nominalQuota", "value": self._chance.choice(QUOTAS)}
        ]
        path = f"/apis/penstock.dev/v1alpha1/clusterqueues/{self._team.full('best')}"
        await self._team.client.patch(path, quota, content_type=JSON_PATCH)

    async def _come_urgently(self) -> None:
        self._urgent += 1
        name = self._team.full("urgent")
        if self._urgent == 1:
            await self._team.make("workloadpriorityclasses", "WorkloadPriorityClass", name, {"value": 1000})
        await self._team.pod(
            f"urgent-{self._urgent}", "2", queue="best", labels={PRIORITY_CLASS: name}, annotations={"run-for": "1s"}
        )

    async def _replace(self) -> None:
        lives = list(self._history.lives("pods", self._team.namespace))
        waiting = [life[-1].object for life in lives if not is_over(life[-1]) and is_gated(life[-1].object)]
        if not waiting:
            return
        pod: Json = self._chance.choice(waiting)
        metadata = pod["metadata"]
        with suppress(NotFound):
            await self._team.delete(metadata["name"])
        kept = {key: metadata[key] for key in ("labels", "annotations") if key in metadata}
        asked = pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]
        gates = [one for one in pod["spec"]["schedulingGates"] if not one["name"].startswith("penstock.dev/")]
        await self._team.pod(
            metadata["name"], asked, queue=None, **kept, spec={"schedulingGates": gates} if gates else {}
        )

    async def _refuse(self, moment: Moment) -> None:
        async with releases_refused(self._team, f"refuses-{moment.at * 1000:.0f}"):
            await asyncio.sleep(moment.seconds)

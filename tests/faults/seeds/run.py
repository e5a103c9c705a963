"""One run: work comes, things go wrong for a while, all of it is done at last; and what broke a rule meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from controller.sandbox.installation import CONTROLLER_ACCOUNT, NAMESPACE
from tests.faults.seeds.controllers import Controllers
from tests.faults.seeds.deeds import Deeds
from tests.faults.seeds.history import History
from tests.faults.seeds.ledger import Ledger
from tests.faults.seeds.requests import Now, Requests
from tests.faults.seeds.script import SECONDS, Deed, Fault, Script
from tests.faults.seeds.streams import Streams
from tests.faults.seeds.world import FOREIGN_GATE, NEVER, QUEUES, QUOTAS, ROOT, SHARES, Work, build, draw_work
from tests.support.apiserver_proxy import ApiserverProxy
from tests.support.books import Share
from tests.support.clusters import Cluster
from tests.support.eventually import eventually
from tests.support.team import Team, condition_of

_DONE_SECONDS = 120.0
_CALM_PODS = 6


@dataclass(slots=True)
class Run:
    """One script on one team's corner of a cluster.

    `kubeconfig`: of the controllers, where theirs does not lead straight to the sandbox's apiserver. `meanwhile`: what
    else is done while work comes.
    """

    cluster: Cluster
    team: Team
    script: Script
    folder: Path
    clock: Path
    kubeconfig: Path | None = None
    meanwhile: Callable[[], Awaitable[None]] | None = None

    async def violations(self) -> list[str]:
        """Run it; say what broke a rule. Raises AssertionError where work is left for good."""
        original = self.kubeconfig or await self.cluster.sandbox.service_account_kubeconfig(
            NAMESPACE, CONTROLLER_ACCOUNT
        )
        history = History()
        await build(self.team)
        async with (
            history.kept(self.team.client),
            asyncio.TaskGroup() as group,
            ApiserverProxy(original).serving() as proxy,
            Controllers(self.team.client, proxy.kubeconfig(self.folder), self.folder).running() as controllers,
        ):
            now = Now(self.script)
            requests = Requests(proxy, now, group)
            proxy.edit_watches(Streams(now, history, group).edit)
            deeds = Deeds(self.team, controllers, history, self.clock, self.script.seed)
            await self._disturb(deeds)
            await requests.all_arrived()
            await self.team.visited("calm", seconds=_DONE_SECONDS)
            calm = history.newest("pods")
            await self._work_in_calm()
            ledger = Ledger(history, self.team.namespace)
            await eventually(lambda: self._is_done(ledger), seconds=_DONE_SECONDS, message="work is left")
            await eventually(self._is_settled, seconds=_DONE_SECONDS, message="the queues do not settle")
        return list(self._broken(ledger, history, calm, requests.attempts))

    async def _disturb(self, deeds: Deeds) -> None:
        work = draw_work(self.script.seed, SECONDS)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._create(work), name="work")
            for number, moment in enumerate(self.script.moments):
                group.create_task(_at(moment.at, partial(deeds.do, moment)), name=f"deed-{number}")
            if self.meanwhile is not None:
                group.create_task(_at(0, self.meanwhile), name="meanwhile")

    async def _create(self, work: Work) -> None:
        async with asyncio.TaskGroup() as group:
            for at, cpu, options in work.pods:
                options = dict(options)
                pod = partial(self.team.pod, options.pop("name"), cpu, **options)
                group.create_task(_at(at, pod), name="pod")
            for at, body in work.jobs:
                path = f"/apis/batch/v1/namespaces/{self.team.namespace}/jobs"
                group.create_task(_at(at, partial(self.team.client.post, path, body)), name="job")
        for name, found in (await self.team.all()).items():
            if any(gate["name"] == FOREIGN_GATE for gate in found["spec"].get("schedulingGates", ())):
                await self._ungate(name)

    async def _ungate(self, name: str) -> None:
        """Remove the foreign gate, as who set it does."""

        async def done() -> bool:
            pod = await self.team.get(name)
            at = next(n for n, one in enumerate(pod["spec"]["schedulingGates"]) if one["name"] == FOREIGN_GATE)
            where = f"/spec/schedulingGates/{at}"
            test = {"op": "test", "path": f"{where}/name", "value": FOREIGN_GATE}
            return bool(await self.team.patch(name, [test, {"op": "remove", "path": where}]))

        await eventually(done, message=f"the gate of another stays on {name}")

    async def _work_in_calm(self) -> None:
        for number in range(_CALM_PODS):
            queue = QUEUES[number % len(QUEUES)]
            await self.team.pod(f"calm-{number}", queue=queue, annotations={"run-for": "1s"})

    def _is_done(self, ledger: Ledger) -> bool:
        left = [one for one in ledger.left() if not one.startswith((f"{NEVER}:", "calm:"))]
        assert not left, "\n".join(left)
        return True

    async def _is_settled(self) -> bool:
        """Nothing is charged any more, and who waits for ever says why."""
        condition = condition_of(await self.team.get(NEVER))
        assert condition is not None
        assert condition["reason"] == "NeverFits", condition
        for name in (ROOT, *QUEUES):
            status = await self.team.status("clusterqueues", self.team.full(name))
            counted = {key: status.get(key, 0) for key in ("reserved", "running")}
            assert not any(counted.values()), (name, status)
        return True

    def _broken(self, ledger: Ledger, history: History, calm: int, attempts: Mapping[str, float]) -> Iterable[str]:
        yield from ledger.excesses(self._shares(most=True))
        if not any(moment.deed is Deed.QUOTA for moment in self.script.moments):
            yield from ledger.excesses(self._shares(most=False), since=calm)
        yield from ledger.wrong_releases()
        if not self.script.has(Fault.MISSED, "pods"):
            yield from ledger.overtaken("fifo", attempts)
        assert len(list(history.lives("pods", self.team.namespace))) > _CALM_PODS

    def _shares(self, *, most: bool) -> Mapping[str, Mapping[str, Share]]:
        """The quotas, with the most that the script may have set."""
        changes = any(moment.deed is Deed.QUOTA for moment in self.script.moments)
        best = replace(SHARES["spot"]["best"], owns=max(QUOTAS), lends=None) if most and changes else None
        return {**SHARES, "spot": {**SHARES["spot"], **({"best": best} if best else {})}}


async def _at(seconds: float, work: Callable[[], Awaitable[object]]) -> None:
    await asyncio.sleep(seconds)
    await work()

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
from controller.sandbox.installation import CONTROLLER_ACCOUNT, NAMESPACE
from tests.faults.seeds.controllers import Controllers
from tests.faults.seeds.history import History
from tests.faults.seeds.ledger import is_over
from tests.faults.seeds.script import Deed, Moment
from tests.faults.seeds.world import FLAVORS, QUOTAS
from tests.support.leaders import delete_lease
from tests.support.team import Json, Team, is_gated

_JUMPS = (-7200, -300, -5, 5, 300, 7200)
_POLICIES = "/apis/admissionregistration.k8s.io/v1"


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
        """Refuse the controllers to remove a gate from the team's pods."""
        name = self._team.full(f"refuses-{moment.at * 1000:.0f}")
        rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["pods"]}]
        gates = "size(has({0}.spec.schedulingGates) ? {0}.spec.schedulingGates : [])"
        us = f"system:serviceaccount:{NAMESPACE}:{CONTROLLER_ACCOUNT}"
        rule = f"request.userInfo.username != '{us}' || {gates.format('object')} >= {gates.format('oldObject')}"
        policy = {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": rules},
            "validations": [{"expression": rule}],
        }
        chosen = {"matchLabels": {"kubernetes.io/metadata.name": self._team.namespace}}
        binding = {
            "policyName": name,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": chosen},
        }
        kinds = {"validatingadmissionpolicies": policy, "validatingadmissionpolicybindings": binding}
        for plural, spec in kinds.items():
            await self._team.client.post(f"{_POLICIES}/{plural}", {"metadata": {"name": name}, "spec": spec})
        await asyncio.sleep(moment.seconds)
        for plural in reversed(kinds):
            await self._team.client.delete(f"{_POLICIES}/{plural}/{name}")

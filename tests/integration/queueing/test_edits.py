"""Edits between read and patch: the release patch must not lose what a user changed meanwhile."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest
from msgspec import Raw

from controller.api.parse import parse_cluster_queue, parse_local_queue, parse_resource_flavor
from controller.cache.cluster import ClusterCache
from controller.core.decision.decide import decide
from controller.kube.client import Client
from controller.kube.decode import PodDecoder, decode_node
from controller.kube.decode_answers import AnswerDecoder
from controller.objects.queues import to_cluster_queue, to_flavor, to_local_queue
from controller.runtime.executor import Executor, Released
from controller.sandbox.installation import CONTROLLER_ACCOUNT, NAMESPACE
from controller.telemetry.metrics import ControllerMetrics, PatchResult
from tests.support.clusters import Cluster
from tests.support.eventually import eventually
from tests.support.leaders import holder
from tests.support.releasing import leading
from tests.support.team import TEAM_LABEL, Json, Team, is_gated

pytestmark = pytest.mark.integration

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def affinity(*expressions: Json) -> Json:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}}}


OWN = {"key": "shape", "operator": "Exists"}
EDIT = {"key": "kubernetes.io/hostname", "operator": "Exists"}
APPEND = {
    "op": "add",
    "path": f"/spec/affinity/nodeAffinity/{REQUIRED}/nodeSelectorTerms/0/matchExpressions/-",
    "value": EDIT,
}


@pytest.fixture
async def controller(cluster: Cluster) -> AsyncIterator[Client]:
    """The apiserver as the controller's account sees it: nobody else may open the gate."""
    kubeconfig = await cluster.sandbox.service_account_kubeconfig(NAMESPACE, CONTROLLER_ACCOUNT)
    async with cluster.sandbox.client(kubeconfig) as client:
        yield client


async def held_team(team: Team) -> None:
    await team.nodes("spot", cpu="8", memory="32Gi")
    await team.flavor("spot", nodeRequirements=[{"key": TEAM_LABEL, "operator": "In", "values": [team.id]}])
    await team.cluster_queue({"spot": {"cpu": 8}})
    await team.local_queue(stopPolicy="Hold")
    await team.pod("one", spec={"affinity": affinity(OWN)})


class Stale:
    """A controller's cache and executor, as they were at one moment, on the real apiserver."""

    def __init__(self, client: Client, identity: str) -> None:
        self._client = client
        self._decode = PodDecoder()
        self.metrics = ControllerMetrics()
        self.cache = ClusterCache(lambda: None)
        self.released: list[Released] = []
        self.executor = Executor(
            client,
            self.cache,
            self.metrics,
            decode=AnswerDecoder(self._decode),
            identity=identity,
            held=leading,
            on_released=self.released.append,
            on_room=lambda: None,
            workers=1,
        )

    async def read(self, team: Team) -> None:
        """Take in the team's world as it is now, with the queue open."""
        for name in await self._items("/api/v1/nodes"):
            self.cache.put_node(decode_node(Raw(orjson.dumps(name))))
        self.cache.set_namespace(team.namespace, {})
        flavor = await team.one("resourceflavors", team.full("spot"))
        queue = await team.one("clusterqueues", team.full("cq"))
        local = await team.one("localqueues", "main")
        local["spec"]["stopPolicy"] = "None"
        self.cache.set_flavor(team.full("spot"), to_flavor(parse_resource_flavor(flavor)))
        self.cache.set_cluster_queue(team.full("cq"), to_cluster_queue(parse_cluster_queue(queue)))
        self.cache.set_local_queue((team.namespace, "main"), to_local_queue(parse_local_queue(local)))
        for pod in await self._items(team.pods_path):
            self.cache.put_pod(self._decode(Raw(orjson.dumps(pod))))

    async def _items(self, path: str) -> list[Any]:
        return list(orjson.loads(await self._client.get(path))["items"])

    async def decide_and_release(self) -> int:
        """Decide on what is known and carry it out; return how many were admitted."""
        plan = decide(self.cache.snapshot(), index=self.cache.feasibility, limit=10)
        self.cache.absorb(plan)
        for admit in plan.admits:
            await self.executor.release((admit, (self.cache.flavors[admit.flavor],)))
        return len(plan.admits)

    def count(self, result: PatchResult) -> float:
        return self.metrics.registry.get_sample_value("penstock_release_patches_total", {"result": result}) or 0.0


async def test_an_affinity_edited_after_the_read_is_not_lost(team: Team, controller: Client) -> None:
    await held_team(team)
    stale = Stale(controller, await holder(team.client))
    await stale.read(team)
    await team.patch("one", [APPEND])
    assert await stale.decide_and_release() == 1
    assert stale.count(PatchResult.CONFLICT) == 1
    pod = await team.get("one")
    assert is_gated(pod)
    assert await stale.decide_and_release() == 1
    assert stale.count(PatchResult.RELEASED) == 1
    pod = await team.get("one")
    flavor = {"key": TEAM_LABEL, "operator": "In", "values": [team.id]}
    assert not is_gated(pod)
    assert pod["spec"]["affinity"]["nodeAffinity"][REQUIRED] == affinity(OWN, EDIT, flavor)["nodeAffinity"][REQUIRED]


async def test_an_annotation_added_after_the_read_is_not_lost(team: Team, controller: Client) -> None:
    await held_team(team)
    stale = Stale(controller, await holder(team.client))
    await stale.read(team)
    await team.patch("one", [{"op": "add", "path": "/metadata/annotations/note", "value": "mine"}])
    assert await stale.decide_and_release() == 1
    assert stale.count(PatchResult.RELEASED) == 1
    annotations = (await team.get("one"))["metadata"]["annotations"]
    assert annotations["note"] == "mine"


async def test_a_recreated_pod_is_not_released_for_the_old_one(team: Team, controller: Client) -> None:
    await held_team(team)
    stale = Stale(controller, await holder(team.client))
    await stale.read(team)
    await team.delete("one")
    await team.pod("one", "2", spec={"affinity": affinity(OWN)})
    assert await stale.decide_and_release() == 1
    assert stale.count(PatchResult.RELEASED) == 0
    assert is_gated(await team.get("one"))
    assert not stale.cache.usage.by_queue


async def test_edits_while_the_controller_is_paused_are_kept(team: Team, cluster: Cluster) -> None:
    await held_team(team)
    await team.visited()
    controller = cluster.programs.controller
    controller.process.send_signal(signal.SIGSTOP)
    try:
        await team.change("localqueues", "main", {"stopPolicy": "None"})
        await team.patch("one", [APPEND])
    finally:
        controller.process.send_signal(signal.SIGCONT)
    pod = (await team.until_bound("one"))["one"]
    expressions = pod["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"][0]["matchExpressions"]
    assert expressions[:2] == [OWN, EDIT]


async def test_a_patch_that_admission_refuses_returns_its_quota(team: Team) -> None:
    await team.ready({"spot": {"cpu": 1}}, stopPolicy="Hold")
    policy = refusal(team)
    for path, body in policy:
        await team.client.post(path, body)
    try:
        await eventually_refused(team)
        await team.pod("refused", labels={"refuse": "true"})
        await team.pod("second")
        await team.change("clusterqueues", team.full("cq"), {"stopPolicy": "None"})
        pods = await team.until_bound("second")
        assert is_gated(pods["refused"])
        await team.end("second")
        message = await team.until_waiting("refused", "PatchRejected")
        assert "no release today" in message
    finally:
        for path, body in reversed(policy):
            await team.client.delete(f"{path}/{body['metadata']['name']}")
    await team.until_bound("refused", seconds=30)


def refusal(team: Team) -> list[tuple[str, Json]]:
    """A ValidatingAdmissionPolicy of somebody else's that refuses our patch of one pod, as OpenShift's SCC may."""
    root, name = "/apis/admissionregistration.k8s.io/v1", team.full("refuse")
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["pods"]}]
    selector = {"matchLabels": {"kubernetes.io/metadata.name": team.namespace}}
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": rules, "namespaceSelector": selector},
        "validations": [
            {
                "expression": "!has(object.metadata.labels.refuse) || has(object.spec.schedulingGates)",
                "message": "no release today",
            }
        ],
    }
    binding = {"policyName": name, "validationActions": ["Deny"]}
    return [
        (f"{root}/validatingadmissionpolicies", {"metadata": {"name": name}, "spec": spec}),
        (f"{root}/validatingadmissionpolicybindings", {"metadata": {"name": name}, "spec": binding}),
    ]


async def eventually_refused(team: Team) -> None:
    """A policy takes effect a moment after it was made: wait until it refuses an ungating by hand, tried dry."""
    await team.pod("trial", labels={"refuse": "true"})
    remove = [{"op": "remove", "path": "/spec/schedulingGates"}]

    async def refused() -> bool:
        try:
            await team.client.patch(
                f"{team.pods_path}/trial",
                remove,
                content_type="application/json-patch+json",
                params={"dryRun": "All"},
            )
        except Exception as error:  # noqa: BLE001 - whichever of our errors, it must be the policy speaking
            return "no release today" in str(error)
        return False

    await eventually(refused, message="the policy does not refuse")
    await team.delete("trial")

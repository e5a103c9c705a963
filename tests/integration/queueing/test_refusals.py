"""Who may not do something is told which role to ask for, and that role is enough: on a real control plane."""

from __future__ import annotations

from typing import Final

import pytest

from controller.kube.client import Client
from tests.support.clusters import Cluster
from tests.support.command import Done, penstock
from tests.support.eventually import eventually
from tests.support.team import Team
from tests.support.viewers import bind

pytestmark = pytest.mark.integration

OF_ALL: Final = (
    "no right to list namespaces, nodes, resourceflavors.penstock.dev, clusterqueues.penstock.dev, "
    "localqueues.penstock.dev, limitranges, runtimeclasses.node.k8s.io, priorityclasses.scheduling.k8s.io, "
    "jobs.batch, workloadpriorityclasses.penstock.dev, workloadkinds.penstock.dev, deviceclasses.resource.k8s.io, "
    "resourceclaimtemplates.resource.k8s.io, pods in the whole cluster: "
    "ask for the ClusterRole view in the whole cluster and for the right to list nodes"
)
VIEW: Final = "no right to get {} in namespace {}: ask for the ClusterRole view in namespace {}"
VIEW_OF_QUEUES: Final = (
    "no right to get clusterqueues.penstock.dev in the whole cluster: "
    "ask for the ClusterRole penstock-view in the whole cluster"
)


class Somebody:
    """A user without any rights, at first, who runs `penstock`."""

    def __init__(self, cluster: Cluster, team: Team) -> None:
        self._cluster, self._team = cluster, team

    async def __call__(self, *arguments: str) -> Done:
        kubeconfig = await self._cluster.sandbox.service_account_kubeconfig(self._team.namespace, "default")
        return await penstock(self._cluster.sandbox, *arguments, "--kubeconfig", str(kubeconfig))


@pytest.fixture
def somebody(cluster: Cluster, team: Team) -> Somebody:
    return Somebody(cluster, team)


def told(done: Done) -> str:
    """The one line of a refusal."""
    assert done.output == ""
    assert done.errors.count("\n") == 1, done.errors
    return done.errors.strip().removeprefix("Error: ")


@pytest.mark.more
async def test_without_any_rights_every_command_names_a_role(team: Team, somebody: Somebody) -> None:
    space = team.namespace
    for command in ("queues", "pods", "jobs", "prio -o json", "share", "explain pod/x", "eta", "simulate"):
        done = await somebody(*command.split())
        assert (done.code, told(done)) == (1, OF_ALL), command
    for verb, target, resource in (
        ("hold", "pod/x", "pods"),
        ("top", "job/x", "jobs.batch"),
        ("release", "pod/x", "pods"),
        ("drain", "queue/x", "localqueues.penstock.dev"),
    ):
        done = await somebody(verb, target, "-n", space)
        assert (done.code, told(done)) == (1, f"{target}: {VIEW.format(resource, space, space)}")
    done = await somebody("open", "clusterqueue/x")
    assert (done.code, told(done)) == (1, f"clusterqueue/x: {VIEW_OF_QUEUES}")
    done = await somebody("release", "--all", "--dry-run")
    lacking = "no right to list pods in the whole cluster: ask for the ClusterRole view in the whole cluster"
    assert (done.code, told(done)) == (1, lacking)
    done = await somebody("policy", "report", "-n", space, "-o", "json")
    assert (done.code, told(done).partition(":")[0]) == (2, f"no right to get namespaces in namespace {space!r}")


async def test_a_doctor_who_may_not_look_has_no_answer(somebody: Somebody) -> None:
    for form in ("table", "json"):
        done = await somebody("doctor", "-o", form)
        assert done.code == 2
        assert told(done).startswith("no check could be done: you may not list apiservices.apiregistration.k8s.io, ")
        assert told(done).endswith("; run it as a cluster administrator, or ask for these rights")


@pytest.mark.more
async def test_the_roles_that_are_named_are_enough(cluster: Cluster, client: Client, team: Team) -> None:
    await team.ready({"spot": {"cpu": 1}})
    await team.pods(2, "1")
    viewer = f"viewer-of-{team.id}"
    acting = ("-n", team.namespace, "--as", viewer, "--as-group", "system:authenticated")
    target = "clusterqueue/" + team.full("cq")

    async def tries(*arguments: str) -> str:
        return (await penstock(cluster.sandbox, *arguments, *acting)).errors

    assert VIEW_OF_QUEUES in await tries("drain", target)
    await bind(client, viewer, "penstock-view")

    async def sees() -> bool:
        return VIEW_OF_QUEUES not in await tries("drain", target, "--dry-run")

    await eventually(sees, message="penstock-view does not show ClusterQueues")
    may_not_write = (
        "no right to patch clusterqueues.penstock.dev in the whole cluster: no role of Kubernetes or Penstock"
    )
    assert may_not_write in await tries("drain", target)
    assert VIEW.format("pods", team.namespace, team.namespace) in await tries("hold", "pod/absent")
    await bind(client, viewer, "view", team.namespace)

    async def may_read() -> bool:
        return "pod/absent does not exist" in await tries("hold", "pod/absent")

    await eventually(may_read, message="view does not show pods")
    assert "ask for the ClusterRole edit in namespace" in await tries("hold", "queue/main")
    await bind(client, viewer, "edit", team.namespace)

    async def may_write() -> bool:
        return (await penstock(cluster.sandbox, "hold", "queue/main", *acting)).code == 0

    await eventually(may_write, message="edit does not let hold a LocalQueue")


async def test_an_unknown_name_or_namespace_is_told(cluster: Cluster) -> None:
    for target, plural in (("pod/x", "pods"), ("job/x", "jobs"), ("queue/x", "localqueues.penstock.dev")):
        done = await penstock(cluster.sandbox, "hold", target, "-n", "nowhere")
        listing = f"kubectl get {plural} -n nowhere lists those that do"
        assert (done.code, told(done)) == (1, f"{target} does not exist in namespace nowhere; {listing}")
    done = await penstock(cluster.sandbox, "explain", "pod/x", "-n", "nowhere", "-o", "json")
    assert (done.code, told(done).partition(";")[0]) == (
        1,
        "pod/x: nothing of that name is in a queue in namespace nowhere",
    )
    done = await penstock(cluster.sandbox, "pods", "-n", "nowhere")
    assert (done.code, told(done)) == (0, "No pods name a queue in namespace nowhere.")

"""What the demo sets up, as data: teams, flavors, quotas and nodes, and the manifests they become. Makes no request."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from controller.core.keys import GROUP, VERSION
from controller.core.kubernetes.amounts import CPU, format_amount
from controller.sandbox.nodes import NodeShape

RUN_LABEL: Final = "demo.penstock.dev/run"
"""On everything that a demo makes; the value is the run's."""

LOCAL_QUEUE: Final = "main"

_LIFECYCLE = "example.com/lifecycle"
_SPOT_TAINT = "example.com/spot"
_API_VERSION = f"{GROUP}/{VERSION}"

Body = dict[str, Any]

NODE_SHAPES: Final = (
    NodeShape("spot", 8, "4", "8Gi", labels={_LIFECYCLE: "spot"}, taints=(f"{_SPOT_TAINT}=true:NoSchedule",)),
    NodeShape("on-demand", 4, "4", "8Gi", labels={_LIFECYCLE: "on-demand"}),
)
"""Less spot than the teams' quotas add up to, so that quota is not all that pods wait for."""


@dataclass(frozen=True, slots=True)
class Quota:
    """What a team owns of a flavor, in units, and how much of that others may borrow; None: all."""

    flavor: str
    units: int
    lends: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """One team: its ClusterQueue, namespace and LocalQueue. The preferred flavor is first."""

    name: str
    strategy: str
    share: int
    """How many of 100 pods are this team's."""
    quotas: tuple[Quota, ...]


_TEAMS = (
    Team(name="team-a", strategy="BestEffortFIFO", share=80, quotas=(Quota("spot", 20), Quota("on-demand", 8))),
    Team(
        name="team-b",
        strategy="StrictFIFO",
        share=20,
        quotas=(Quota("spot", 16, lends=8), Quota("on-demand", 8, lends=4)),
    ),
)
"""Team a has more to do than quota, team b less: a borrows what b leaves, all of it once b is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoSetup:
    """One run's objects. A unit is what the smallest pod asks for; quotas count in units."""

    run: str
    prefix: str = ""
    """Before every name that the whole cluster shares."""
    unit_cpu_milli: int = 1000
    unit_memory_mi: int = 2048
    on_real_nodes: bool = False
    """Nodes that are not ours: flavors have a fixed capacity, and pods must be ended by their kubelet."""
    is_gated_by_webhook: bool = True
    teams: tuple[Team, ...] = _TEAMS

    def named(self, name: str) -> str:
        """Return the name of a cluster-wide object, a namespace included."""
        return self.prefix + name

    def short(self, name: str) -> str:
        """Return a name without the run's prefix, as it is shown."""
        return name.removeprefix(self.prefix)

    def amounts(self, units: int) -> dict[str, str]:
        """Return that many units as Kubernetes quantities."""
        return {
            "cpu": format_amount(CPU, units * self.unit_cpu_milli),
            "memory": format_amount("memory", units * self.unit_memory_mi * 1024**2),
        }

    @property
    def selector(self) -> str:
        """Label selector of everything of this run."""
        return f"{RUN_LABEL}={self.run}"

    @property
    def parent(self) -> str:
        """Name of the ClusterQueue above the teams', through which they borrow from each other."""
        return self.named("teams")

    @property
    def urgent(self) -> str:
        """Name of the priority class of urgent pods."""
        return self.named("demo-urgent")


def of_sandbox(run: str) -> DemoSetup:
    """Return the world for a sandbox, where all names are free and nodes are fake."""
    return DemoSetup(run=run)


def of_cluster(run: str) -> DemoSetup:
    """Return the world for somebody's cluster: unique names, tiny pods, and no word about its nodes."""
    return DemoSetup(
        run=run,
        prefix=f"demo-{run}-",
        unit_cpu_milli=10,
        unit_memory_mi=16,
        on_real_nodes=True,
        is_gated_by_webhook=False,
    )


def objects(world: DemoSetup) -> list[Body]:
    """Return the manifests of everything but pods and nodes."""
    return [
        *_flavors(world),
        _object(world, "scheduling.k8s.io/v1", "PriorityClass", world.urgent)
        # Never: kube-scheduler's own preemption knows no quota
        | {"value": 1000, "preemptionPolicy": "Never", "description": "Urgent pods of the Penstock demo."},
        # owns nothing itself: what one team can borrow is the other's
        _object(world, _API_VERSION, "ClusterQueue", world.parent) | {"spec": {}},
        *(body for team in world.teams for body in _team(world, team)),
    ]


def _flavors(world: DemoSetup) -> Iterator[Body]:
    specs: dict[str, Body] = {
        "spot": {
            "nodeLabels": {_LIFECYCLE: "spot"},
            "tolerations": [{"key": _SPOT_TAINT, "operator": "Exists", "effect": "NoSchedule"}],
        },
        "on-demand": {"nodeLabels": {_LIFECYCLE: "on-demand"}},
    }
    for shape in NODE_SHAPES:
        spec = specs[shape.name]
        if world.on_real_nodes:
            static = world.amounts(shape.count * int(shape.cpu)) | {"pods": str(shape.count * shape.pods)}
            spec = {"capacity": {"mode": "Static", "static": static}}
        yield _object(world, _API_VERSION, "ResourceFlavor", world.named(shape.name), spec=spec)


def _team(world: DemoSetup, team: Team) -> Iterator[Body]:
    name = world.named(team.name)
    namespace = _object(world, "v1", "Namespace", name)
    spec = {
        "parent": world.parent,
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}},
        "queueingStrategy": team.strategy,
        "flavors": [{"name": world.named(one.flavor), "resources": _resources(world, one)} for one in team.quotas],
    }
    yield namespace
    yield _object(world, _API_VERSION, "ClusterQueue", name, spec=spec)
    yield _object(world, _API_VERSION, "LocalQueue", LOCAL_QUEUE, namespace=name, spec={"clusterQueue": name})


def _resources(world: DemoSetup, quota: Quota) -> list[Body]:
    owned = [{"name": name, "nominalQuota": amount} for name, amount in world.amounts(quota.units).items()]
    if quota.lends is None:
        return owned
    lent = world.amounts(quota.lends)
    return [one | {"lendingLimit": lent[one["name"]]} for one in owned]


def _object(
    world: DemoSetup, api_version: str, kind: str, name: str, *, spec: Body | None = None, namespace: str | None = None
) -> Body:
    metadata = {"name": name, "labels": {RUN_LABEL: world.run}} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata} | ({"spec": spec} if spec else {})

"""What a PodGroup says beside its size, on a real control plane: kept to, or a reason that names the field."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest

from tests.integration.native_groups.conftest import MEMBER, pod_group
from tests.support.eventually import eventually
from tests.support.kubernetes import POD_GROUPS
from tests.support.team import Team, is_gated

pytestmark = pytest.mark.integration

GANG = {"gang": {"minCount": 2}}
PART = {"parentCompositePodGroupName": "all", "workloadRef": {"workloadName": "all", "templateName": "train"}}
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


@asynccontextmanager
async def a_class(team: Team, value: int) -> AsyncIterator[str]:
    """A PriorityClass by which kube-scheduler may preempt."""
    name = f"class-{secrets.token_hex(3)}"
    await team.client.post(CLASSES, {"metadata": {"name": name}, "value": value})
    yield name
    await team.client.delete(f"{CLASSES}/{name}")


@pytest.fixture
async def urgent(team: Team) -> AsyncIterator[str]:
    """One of a priority that is not that of pods without a class."""
    async with a_class(team, 7) as name:
        yield name


async def members(team: Team, **spec: Any) -> None:
    for name in ("one", "two"):
        await team.pod(name, spec={**MEMBER, **spec})


async def test_a_group_goes_to_one_domain_of_its_topology(team: Team) -> None:
    await team.nodes("spot", cpu="1", memory="32Gi", labels={"rack": "a"})
    far = await team.nodes("spot", 2, cpu="1", memory="32Gi", labels={"rack": "b"})
    await team.flavor("spot")
    await team.cluster_queue({"spot": {"cpu": 8}})
    await team.local_queue()
    await pod_group(team, GANG, schedulingConstraints={"topology": [{"key": "rack"}]})
    await members(team)
    pods = await team.until_bound("one", "two")
    assert sorted(pod["spec"]["nodeName"] for pod in pods.values()) == sorted(far)


async def test_a_group_that_no_domain_holds_is_not_released(team: Team) -> None:
    for rack in ("a", "b"):
        await team.nodes("spot", cpu="1", memory="32Gi", labels={"rack": rack})
    await team.flavor("spot")
    await team.cluster_queue({"spot": {"cpu": 8}})
    await team.local_queue()
    await pod_group(team, GANG, schedulingConstraints={"topology": [{"key": "rack"}]})
    await members(team)
    await team.until_waiting("two", "NeverFits")
    assert all(map(is_gated, (await team.all()).values()))


async def test_pods_of_another_priority_than_their_group_wait(team: Team, urgent: str) -> None:
    await team.ready()
    await pod_group(team, GANG)
    await members(team, priorityClassName=urgent)
    message = await team.until_waiting("one", "GangInvalid")
    assert message.startswith("spec.priority of PodGroup train is 0, and of pod one 7: kube-scheduler runs no group")


async def test_a_group_and_pods_of_one_priority_run(team: Team, urgent: str) -> None:
    await team.ready()
    await pod_group(team, GANG, priorityClassName=urgent)
    await members(team, priorityClassName=urgent)
    pods = await team.until_bound("one", "two")
    assert not any(map(is_gated, pods.values()))


async def test_a_queue_forbids_preemption_for_the_group_itself(team: Team) -> None:
    await team.ready(schedulerPreemption="Forbid")
    async with a_class(team, 0) as name:
        await pod_group(team, GANG, priorityClassName=name)
        await members(team)
        message = await team.until_waiting("one", "SchedulerPreemptionForbidden")
    assert (
        f"kube-scheduler may preempt for PriorityClass {name}, which ClusterQueue {team.full('cq')} forbids" in message
    )
    assert all(map(is_gated, (await team.all()).values()))


async def test_kube_scheduler_runs_no_group_of_other_priority(team: Team, urgent: str) -> None:
    """Which is why Penstock does not release it."""
    await team.ready()
    await pod_group(team, GANG)
    for name in ("one", "two"):
        await team.pod(name, queue=None, spec={**MEMBER, "priorityClassName": urgent})

    async def is_refused() -> bool:
        path = f"/apis/{POD_GROUPS}/namespaces/{team.namespace}/podgroups/train"
        status = orjson.loads(await team.client.get(path)).get("status") or {}
        return any("should have the same priority" in one["message"] for one in status.get("conditions") or ())

    await eventually(is_refused, message="kube-scheduler says nothing of the priority")


@pytest.mark.parametrize(
    ("policy", "spec", "field"),
    [
        (GANG, PART, "spec.parentCompositePodGroupName of PodGroup train is all"),
        ({"basic": {}}, {"disruptionMode": {"all": {}}}, "spec.disruptionMode.all of PodGroup train"),
        (
            {"basic": {}},
            {"schedulingConstraints": {"topology": [{"key": "rack"}]}},
            "spec.schedulingConstraints.topology of PodGroup train",
        ),
    ],
)
async def test_what_cannot_be_kept_to_waits(
    team: Team, policy: dict[str, Any], spec: dict[str, Any], field: str
) -> None:
    await team.ready()
    await pod_group(team, policy, **spec)
    await members(team)
    for name in ("one", "two"):
        assert (await team.until_waiting(name, "GangInvalid")).startswith(field)

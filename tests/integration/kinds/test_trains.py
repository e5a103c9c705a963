"""Objects of a WorkloadKind: held, admitted with pod sets in several flavors, preempted as a whole, and put back."""

from __future__ import annotations

import pytest

from controller.core.keys import ADMITTED_JOB, CLUSTER_QUEUE, FLAVOR, ORIGINAL_TEMPLATE, PRIORITY_CLASS, QUEUE_NAME
from tests.integration.kinds.trains import Trains, a_template, is_suspended
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration

_GPU_ONLY = {"spec": {"nodeSelector": {"shape": "gpu"}}}


async def two_flavors(trains: Trains, **spec: object) -> None:
    await trains.team.ready({"cpu": {"cpu": 4}, "gpu": {"cpu": 6}}, **spec)


async def test_pod_sets_go_to_their_flavors_by_one_patch(trains: Trains) -> None:
    await two_flavors(trains)
    made = await trains.make("express", workers={"big": (3, a_template("2", **_GPU_ONLY))})
    assert is_suspended(made)
    pods = await trains.until_runs("express", 4)
    train, team = await trains.get("express"), trains.team
    flavors = {pod["metadata"]["name"]: pod["metadata"]["labels"][FLAVOR] for pod in pods}
    assert flavors == {
        "express-head-0": team.full("cpu"),
        **{f"express-big-{number}": team.full("gpu") for number in range(3)},
    }
    assert all("schedulingGates" not in pod["spec"] for pod in pods)
    assert train["metadata"]["labels"][CLUSTER_QUEUE] == team.full("cq")
    uid = train["metadata"]["uid"]
    assert train["spec"]["head"]["template"]["metadata"]["annotations"][ADMITTED_JOB] == f"{uid}/head"


async def test_all_pod_sets_wait_for_one(trains: Trains) -> None:
    await two_flavors(trains)
    await trains.make("slow", workers={"big": (4, a_template("2", **_GPU_ONLY))})
    assert "gpu" in await trains.until_waiting("slow", "NeverFits")
    assert await trains.pods_of("slow") == []


async def test_what_is_preempted_is_put_back_and_admitted_again(trains: Trains) -> None:
    await two_flavors(trains, preemption={"withinClusterQueue": "LowerPriority"})
    team = trains.team
    await team.make("workloadpriorityclasses", "WorkloadPriorityClass", team.full("high"), {"value": 1000})
    before = await trains.make("low", workers={"big": (2, a_template("2", **_GPU_ONLY))})
    await trains.until_runs("low", 3)
    high = {QUEUE_NAME: "main", PRIORITY_CLASS: team.full("high")}
    await trains.make("urgent", workers={"big": (2, a_template("2", **_GPU_ONLY))}, labels=high)
    await trains.until_runs("urgent", 3)
    await trains.until_waiting("low", "QuotaExceeded")

    async def is_as_written() -> bool:
        low = await trains.get("low")
        assert low["spec"] == before["spec"]
        assert ORIGINAL_TEMPLATE not in low["metadata"]["annotations"]
        return True

    await eventually(is_as_written, message="the Train is not as its user wrote it")
    await team.client.delete(f"{trains.path}/urgent")
    await trains.until_runs("low", 3)

"""MPIJobs of the MPI operator, which makes pods and a Job: admitted together, preempted, and admitted again."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator

import pytest

from controller.core.keys import FLAVOR, ORIGINAL_TEMPLATE
from controller.kube.client import MERGE_PATCH, Client
from tests.integration.kinds.mpi_jobs import MpiJobs, MpiOperator, a_template
from tests.integration.kinds.rig import at_work
from tests.support.eventually import eventually
from tests.support.impersonation import Impersonation
from tests.support.team import Team

pytestmark = pytest.mark.integration


@pytest.fixture
async def mpi_jobs(team: Team, client: Client, apiserver: Impersonation) -> AsyncIterator[MpiJobs]:
    """MPIJobs of the team's namespace, with their operator at work."""
    jobs = MpiJobs(team)
    async with at_work(MpiOperator(client, apiserver, jobs).run()):
        yield jobs


async def test_launcher_and_workers_run_stop_and_run_again(mpi_jobs: MpiJobs) -> None:
    team = mpi_jobs.team
    await team.ready({"cpu": {"cpu": 4}, "gpu": {"cpu": 6}})
    before = await mpi_jobs.make("sum", a_template("1"), a_template("2", nodeSelector={"shape": "gpu"}), 3)
    assert before["spec"]["runPolicy"] == {"suspend": True}
    pods = await mpi_jobs.until_runs("sum", 4)
    parts = [pod["metadata"] for pod in pods]
    flavors = Counter((one["ownerReferences"][0]["kind"], one["labels"][FLAVOR]) for one in parts)
    assert flavors == {("Job", team.full("cpu")): 1, ("MPIJob", team.full("gpu")): 3}
    assert all("schedulingGates" not in pod["spec"] for pod in pods)

    await team.change("localqueues", "main", {"stopPolicy": "Hold"})
    await team.client.patch(
        f"{mpi_jobs.path}/sum", {"spec": {"runPolicy": {"suspend": True}}}, content_type=MERGE_PATCH
    )

    async def is_as_written() -> bool:
        found = await mpi_jobs.get("sum")
        assert found["spec"] == before["spec"]
        assert ORIGINAL_TEMPLATE not in found["metadata"]["annotations"]
        return await mpi_jobs.pods_of("sum") == []

    await eventually(is_as_written, seconds=60, message="the MPIJob is not as its user wrote it")
    await team.change("localqueues", "main", {"stopPolicy": "None"})
    await mpi_jobs.until_runs("sum", 4)

"""Jobs of Kueue are written before their pods, which share what befell their Job."""

from __future__ import annotations

import pytest

from controller.core.gate.adoption import Adoption, KueuePod
from controller.core.gate.job_adoption import JobAdoption, JobHold, KueueJob
from controller.kube.errors import Conflict, Forbidden, KubeError
from controller.runtime.kueue_pods import Change, adopt_all
from tests.support.fake_client import FakeClient

JOB = KueueJob(namespace="ns", name="j", uid="u")
RUNS, WAITS = JobAdoption(JOB, "main", "team", "spot"), JobHold(KueueJob(namespace="ns", name="w", uid="w"), "main")
OF_JOB = Adoption(KueuePod(namespace="ns", name="p", uid="1", job="u"), "main", "team", "spot", is_of_whole_job=True)
ALONE = Adoption(KueuePod(namespace="ns", name="q", uid="2"), "main", "team", "spot")
EVERY: list[Change] = [OF_JOB, ALONE, RUNS, WAITS]


async def test_jobs_are_written_before_their_pods() -> None:
    client = FakeClient().will("PATCH", b"{}", b"{}", b"{}", b"{}")
    tally = await adopt_all(client.as_client, EVERY)
    paths = [call.path for call in client.made("PATCH")]
    jobs = "/apis/batch/v1/namespaces/ns/jobs"
    assert set(paths[:2]) == {f"{jobs}/j", f"{jobs}/w"}
    assert set(paths[2:]) == {"/api/v1/namespaces/ns/pods/p", "/api/v1/namespaces/ns/pods/q"}
    assert (len(tally.done), tally.gone, tally.refused) == (4, [], [])


@pytest.mark.parametrize(
    "error", [Conflict(409, "Conflict", "changed"), Forbidden(403, "Forbidden", "no")], ids=["gone", "refused"]
)
async def test_pods_of_a_job_that_was_not_written_are_left(error: KubeError) -> None:
    client = FakeClient().will("PATCH", error, b"{}")
    tally = await adopt_all(client.as_client, [OF_JOB, ALONE, RUNS])
    assert tally.done == [ALONE]
    assert [*tally.gone, *(one for one, _ in tally.refused)] == [RUNS, OF_JOB]

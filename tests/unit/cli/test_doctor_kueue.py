"""What `penstock doctor` finds of Jobs of Kueue in namespaces that moved. Real Jobs: tests/integration/jobs."""

from __future__ import annotations

from typing import Any

import pytest

from controller.cli.doctor_checks.every import examine
from controller.cli.doctor_checks.kueue import KUEUE
from controller.core.keys import ACCEPTED, DEFAULT_QUEUE, KUEUE_LABELS, KUEUE_QUEUE, QUEUE_NAME
from tests.support.job_documents import a_job_document
from tests.support.still_cluster import Json, StillClient

JOBS = "/apis/batch/v1/namespaces/team-a/jobs"


def a_job(name: str, *, suspend: bool = True, **labels: str) -> dict[str, Json]:
    metadata = {"labels": {KUEUE_QUEUE: "main", **labels}, "namespace": "team-a"}
    return {f"{JOBS}/{name}": a_job_document(name, spec={"suspend": suspend}, metadata=metadata)}


async def found(*jobs: dict[str, Json], **labels: str) -> list[tuple[str, str, str]]:
    namespace = {"metadata": {"name": "team-a", "labels": {KUEUE_LABELS: ACCEPTED, **labels}}}
    objects: dict[str, Any] = {"/api/v1/namespaces/team-a": namespace}
    for one in jobs:
        objects |= one
    (result,) = await examine(StillClient(objects).cluster, (KUEUE,))
    assert result.is_done
    remedy = "penstock import kueue-pods -n team-a --as NAME --as-group penstock:break-glass"
    assert all(one.remedy == remedy for one in result.findings)
    return [(one.severity, one.where, one.what) for one in result.findings]


async def test_jobs_of_kueue_that_nobody_took_over_are_found() -> None:
    left = await found(a_job("one"), a_job("two"), a_job("runs", suspend=False))
    assert [(severity, where) for severity, where, _ in left] == [
        ("Error", "Jobs of Kueue in namespace team-a (one, two)"),
        ("Warning", "Jobs of Kueue in namespace team-a (runs)"),
    ]
    assert left[0][2].endswith("so nobody will let them begin")
    assert left[1][2] == "run, and no quota counts the pods that they create"


@pytest.mark.parametrize("suspend", [True, False])
async def test_jobs_that_are_in_a_queue_are_fine(suspend: bool) -> None:
    assert await found(a_job("ours", suspend=suspend, **{QUEUE_NAME: "main"})) == []


async def test_where_later_pods_are_gated_running_jobs_are_fine() -> None:
    assert await found(a_job("runs", suspend=False), **{DEFAULT_QUEUE: "main"}) == []

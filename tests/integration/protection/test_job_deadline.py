"""A Job's deadline counts while its pods wait: its writer is warned, as `explain` says, and the pods say so."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from controller.cli.policy.workloads import deadline_in_queue
from controller.core.keys import QUEUE_NAME
from tests.integration.protection.test_queue_label import ALICE, path_of, texts, workload
from tests.support.eventually import eventually
from tests.support.impersonation import Impersonation
from tests.support.team import Json, Team

pytestmark = pytest.mark.integration

NAME = "penstock-job-deadline"
BEFORE = f"Validation failed for ValidatingAdmissionPolicy '{NAME}' with binding '{NAME}': "
QUEUED = {QUEUE_NAME: "main"}


def bounded(kind: str = "Job", own: Json | None = None, template: Json | None = None, **spec: Any) -> Json:
    """A workload of this kind whose Jobs have a deadline."""
    document = workload(kind, own, template)
    spec = {"activeDeadlineSeconds": 20, **spec}
    job = document["spec"]["jobTemplate"] if kind == "CronJob" else document
    job["spec"].update(spec)
    return document


async def warned(apiserver: Impersonation, namespace: str, document: Json) -> tuple[str, ...]:
    reply = await apiserver.send(ALICE, "POST", path_of(document, namespace), document, params={"dryRun": "All"})
    return texts(reply, BEFORE)


async def test_who_writes_a_deadline_that_counts_in_a_queue_is_warned(apiserver: Impersonation, namespace: str) -> None:
    tried = partial(warned, apiserver, namespace)
    await eventually(partial(tried, bounded(template=QUEUED)), message="the policy is not in effect")
    for document in (bounded(template=QUEUED), bounded("CronJob", template=QUEUED)):
        (told,) = await tried(document)
        assert (told,) == deadline_in_queue(document)
    for silent in (bounded(), workload("Job", template=QUEUED), bounded(own=QUEUED, template=QUEUED)):
        assert await tried(silent) == deadline_in_queue(silent) == ()


async def test_a_pod_that_waits_says_until_when_its_job_may(team: Team) -> None:
    await team.ready({"spot": {"cpu": 1}}, stopPolicy="Hold")
    await team.job("bounded", activeDeadlineSeconds=3600)

    async def says() -> str:
        names = list(await team.all())
        assert len(names) == 1
        return await team.until_waiting(names[0], "QueueStopped")

    message = await eventually(says, message="the pod does not say why it waits")
    assert "its Job's activeDeadlineSeconds (3600) counts while it waits: the Job fails at " in message

"""A queue's label on an object of a kind that no WorkloadKind holds: its writer is warned, as `explain` says."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from controller.cli.policy.other_kinds import unqueued
from controller.core.keys import KUEUE_LABELS, KUEUE_QUEUE, QUEUE_NAME
from controller.kube.client import MERGE_PATCH, Client
from controller.kube.errors import NotFound, TooManyRequests
from tests.support.eventually import eventually
from tests.support.existence import until_gone
from tests.support.impersonation import Identity, Impersonation
from tests.support.team import Json

pytestmark = pytest.mark.integration

ALICE = Identity("alice", ("system:masters", "system:authenticated"))
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
BEFORE = "ValidatingAdmissionPolicy 'penstock-other-kinds' with binding 'penstock-other-kinds': "


@pytest.fixture
async def job_sets(client: Client, namespace: str) -> AsyncIterator[str]:
    """Path of JobSets in the namespace, as far as a cluster with their CRD knows them."""
    names = {"plural": "jobsets", "singular": "jobset", "kind": "JobSet"}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1alpha2", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "jobset.x-k8s.io", "scope": "Namespaced", "names": names, "versions": [version]}
    await client.post(CRDS, {"metadata": {"name": "jobsets.jobset.x-k8s.io"}, "spec": spec})
    path = f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{namespace}/jobsets"

    async def is_served() -> bool:
        try:
            await client.get(path)
        except (NotFound, TooManyRequests):  # not served yet, or its storage is not
            return False
        return True

    await eventually(is_served, message="JobSets are not served")
    yield path
    # the next test defines them again
    await client.delete(f"{CRDS}/jobsets.jobset.x-k8s.io")
    await until_gone(client, f"{CRDS}/jobsets.jobset.x-k8s.io", seconds=90)


def a_job_set(label: str = "", **metadata: object) -> Json:
    labels = {label: "main"} if label else {}
    named: Json = {"name": "train", "labels": labels, **metadata}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": named, "spec": {}}


async def test_whoever_queues_a_job_set_is_warned(
    apiserver: Impersonation, client: Client, namespace: str, job_sets: str
) -> None:
    async def warned(document: Json) -> list[str]:
        reply = await apiserver.send(ALICE, "POST", job_sets, document, params={"dryRun": "All"})
        assert reply.code == 201, reply.body
        return [one.partition(BEFORE)[2].rstrip('"') for one in reply.warnings]

    async def is_warned() -> bool:
        return bool(await warned(a_job_set(QUEUE_NAME)))

    await eventually(is_warned, message="the policy is not in effect")
    assert await warned(a_job_set(QUEUE_NAME)) == list(unqueued(a_job_set(QUEUE_NAME)))
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "u", "controller": True}
    suspended = {**a_job_set(QUEUE_NAME), "spec": {"suspend": True}}
    for silent in (a_job_set(), a_job_set(KUEUE_QUEUE), a_job_set(QUEUE_NAME, ownerReferences=[owner]), suspended):
        assert await warned(silent) == []

    labels = {"metadata": {"labels": {KUEUE_LABELS: "Accepted"}}}
    await client.patch(f"/api/v1/namespaces/{namespace}", labels, content_type=MERGE_PATCH)

    async def is_accepted() -> bool:
        return await warned(a_job_set(KUEUE_QUEUE)) == list(unqueued(a_job_set(KUEUE_QUEUE)))

    await eventually(is_accepted, message="Kueue's label is not warned of")

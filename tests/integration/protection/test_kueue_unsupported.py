"""Keys of Kueue that have no effect, on what waits in a queue: their writer is told so, as `explain` says."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from controller.cli.policy.kueue_unsupported import UNSUPPORTED, unsupported
from controller.core.keys import DEFAULT_QUEUE, KUEUE_LABELS, KUEUE_QUEUE, QUEUE_NAME
from controller.kube.client import MERGE_PATCH, Client
from tests.integration.protection.test_other_kinds import a_job_set, job_sets
from tests.integration.protection.test_queue_label import ALICE, VERSIONS, path_of, texts, type_checking, workload
from tests.support.eventually import eventually
from tests.support.impersonation import Impersonation
from tests.support.team import Json
from tests.support.workload_documents import template_of

__all__ = ["job_sets"]
pytestmark = pytest.mark.integration

NAME = "penstock-kueue-unsupported"
BEFORE = f"Validation failed for ValidatingAdmissionPolicy '{NAME}' with binding '{NAME}': "
QUEUED = {QUEUE_NAME: "main"}
LONGEST = {"kueue.x-k8s.io/max-exec-time-seconds": "3600"}
PREBUILT = {"kueue.x-k8s.io/prebuilt-workload-name": "train"}


def written(part: str, key: str) -> Json:
    """Metadata that has such a key."""
    return {part: {f"{key}param" if key.endswith("/") else key: "2"}}


def with_key(document: Json, metadata: Json, *holders: Json) -> Json:
    """The object, with this in the metadata of each holder, which are parts of it."""
    for holder in holders:
        own = holder.setdefault("metadata", {})
        for part, added in metadata.items():
            own[part] = {**(own.get(part) or {}), **added}
    return document


def key_everywhere(kind: str, part: str, key: str) -> Json:
    document = workload(kind, template=QUEUED)
    maker = document["spec"]["jobTemplate"] if kind == "CronJob" else document
    return with_key(document, written(part, key), maker, template_of(document))


def with_all(document: Json) -> Json:
    """The object with every such key of its own."""
    for part, key, _ in UNSUPPORTED:
        with_key(document, written(part, key), document)
    return document


def a_pod(labels: Json, **metadata: Any) -> Json:
    spec = {"containers": [{"name": "main", "image": "none"}]}
    named = {"name": "single", "labels": labels, **metadata}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": named, "spec": spec}


class Writer:
    """A user who writes into a namespace, and hears of this policy."""

    def __init__(self, apiserver: Impersonation, namespace: str) -> None:
        self._apiserver = apiserver
        self._namespace = namespace

    def _path(self, document: Json) -> str:
        match document["kind"]:
            case "Pod":
                return f"/api/v1/namespaces/{self._namespace}/pods"
            case "JobSet":
                return f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{self._namespace}/jobsets"
            case _:
                return path_of(document, self._namespace)

    async def tried(self, document: Json) -> list[str]:
        reply = await self._apiserver.send(ALICE, "POST", self._path(document), document, params={"dryRun": "All"})
        return self._told(texts(reply, ""))

    async def created(self, document: Json) -> list[str]:
        return self._told(texts(await self._apiserver.send(ALICE, "POST", self._path(document), document), ""))

    async def changed(self, document: Json, change: Json) -> list[str]:
        path = f"{self._path(document)}/{document['metadata']['name']}"
        reply = await self._apiserver.send(ALICE, "PATCH", path, change, content_type=MERGE_PATCH)
        return self._told(texts(reply, ""))

    @staticmethod
    def _told(found: tuple[str, ...]) -> list[str]:
        ours = [text.removeprefix(BEFORE) for text in found if text.startswith(BEFORE)]
        return [line for text in ours for line in text.split("; ")]


@pytest.fixture
async def writer(apiserver: Impersonation, namespace: str) -> Writer:
    """Somebody whom the apiserver tells already: it heeds a policy a moment after it is written."""
    made = Writer(apiserver, namespace)
    job = workload("Job", LONGEST, QUEUED)
    await eventually(partial(made.tried, job), message="the policy is not in effect")
    return made


async def accept_labels_of_kueue(client: Client, namespace: str) -> None:
    labels = {"metadata": {"labels": {KUEUE_LABELS: "Accepted"}}}
    await client.patch(f"/api/v1/namespaces/{namespace}", labels, content_type=MERGE_PATCH)


def told_of(document: Json) -> list[str]:
    """What `penstock policy explain` says of it."""
    return list(unsupported(document))


@pytest.mark.parametrize("kind", sorted(VERSIONS.keys() - {"DaemonSet"}))
async def test_every_unsupported_key_is_told_as_explain_says(writer: Writer, kind: str) -> None:
    for part, key, _ in UNSUPPORTED:
        document = key_everywhere(kind, part, key)
        assert len(told_of(document)) == 2
        assert await writer.tried(document) == told_of(document)


async def test_what_is_taken_over_is_not_told(writer: Writer, client: Client, namespace: str) -> None:
    job = workload("Job", {**QUEUED, **LONGEST})
    job["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": "1"}
    assert await writer.tried(job) == told_of(job) != []
    await accept_labels_of_kueue(client, namespace)

    async def is_silent() -> bool:
        return await writer.tried(job) == []

    await eventually(is_silent, message="Kueue's minimum is called unsupported where it counts")


async def test_of_a_pod_too_unless_another_object_made_it(writer: Writer) -> None:
    pod = with_all(a_pod(QUEUED))
    assert await writer.tried(pod) == told_of(pod)
    assert len(unsupported(pod)) == len(UNSUPPORTED)
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "u", "controller": True}
    pod["metadata"]["ownerReferences"] = [owner]
    assert await writer.tried(pod) == []


async def test_what_waits_in_no_queue_of_ours_is_kueues_business(writer: Writer) -> None:
    for silent in (workload("Job", LONGEST), a_pod(LONGEST), workload("Job", template=QUEUED), a_pod(QUEUED)):
        assert await writer.tried(silent) == []
    assert await writer.tried(with_all(workload("DaemonSet", template=QUEUED))) == []


async def test_where_kueues_labels_count_its_manifest_is_warned(
    writer: Writer, client: Client, namespace: str, job_sets: str
) -> None:
    moved = (workload("Job", {KUEUE_QUEUE: "main", **PREBUILT}), a_pod({KUEUE_QUEUE: "main", **PREBUILT}))
    job_set = with_all(a_job_set(KUEUE_QUEUE))
    for silent in (*moved, job_set):
        assert await writer.tried(silent) == []
    await accept_labels_of_kueue(client, namespace)
    for document in (*moved, job_set):
        told = partial(writer.tried, document)
        assert await eventually(told, message="Kueue's labels do not count yet") == told_of(document) != []


async def test_where_there_is_a_default_queue_nothing_has_to_name_one(
    writer: Writer, client: Client, namespace: str
) -> None:
    labels = {"metadata": {"labels": {DEFAULT_QUEUE: "main"}}}
    await client.patch(f"/api/v1/namespaces/{namespace}", labels, content_type=MERGE_PATCH)
    for document in (workload("Job", LONGEST), a_pod(LONGEST)):
        told = partial(writer.tried, document)
        assert await eventually(told, message="the default queue is not known") == told_of(document)


async def test_an_update_that_writes_such_a_key_is_warned(writer: Writer) -> None:
    web = workload("Deployment", LONGEST, QUEUED)
    assert await writer.created(web) == told_of(web)
    assert await writer.changed(web, {"metadata": {"annotations": {"note": "a"}, "labels": {"app": "b"}}}) == []
    assert await writer.changed(web, {"spec": {"replicas": 1}}) == []
    assert await writer.changed(web, {"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}}) == told_of(web)
    longer = dict.fromkeys(LONGEST, "7200")
    assert await writer.changed(web, {"metadata": {"labels": longer}}) == told_of(web)
    assert await writer.changed(web, {"metadata": {"labels": dict.fromkeys(LONGEST)}}) == []


async def test_the_apiserver_finds_the_types_of_the_policy_right(client: Client, writer: Writer) -> None:
    assert await type_checking(client, NAME) == {}

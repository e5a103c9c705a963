"""Our label on what makes pods and not in its pod template: who writes that is warned, whoever keeps the gate.

On a Job, and on the Jobs of a CronJob, it means something, unless another controller runs them.
"""

from __future__ import annotations

import re

import orjson
import pytest

from controller.cli.policy.workloads import WORKLOADS, labelled_in_vain
from controller.core.keys import ACCEPTED, KUEUE_LABELS, KUEUE_QUEUE, QUEUE_NAME
from controller.kube.client import MERGE_PATCH, Client
from tests.support.eventually import eventually
from tests.support.impersonation import Identity, Impersonation, Reply
from tests.support.team import Json
from tests.support.workload_documents import APP, GROUPS, spec_of

pytestmark = pytest.mark.integration

ALICE = Identity("alice", ("system:masters", "system:authenticated"))
QUEUED = {QUEUE_NAME: "main"}
VERSIONS = {kind: group_version for group_version, kind in WORKLOADS}
IN_VAIN = [kind for kind in VERSIONS if kind != "Job"]
"""Kinds on which the label means nothing."""
ELSEWHERE = {"managedBy": "example.com/x"}
NAME = "penstock-queue-label"
BEFORE = f"Validation failed for ValidatingAdmissionPolicy '{NAME}' with binding '{NAME}': "


def workload(kind: str, own: Json | None = None, template: Json | None = None, jobs: Json | None = None) -> Json:
    """An object of this kind, with these labels of its own, of its pod template, and of the Jobs that it makes."""
    spec = spec_of(plural(kind), {"labels": {**APP, **(template or {})}})
    if kind == "CronJob":
        spec["jobTemplate"]["metadata"] = {"labels": jobs or {}}
    return {
        "apiVersion": VERSIONS[kind],
        "kind": kind,
        "metadata": {"name": kind.lower(), "labels": own or {}},
        "spec": spec,
    }


def plural(kind: str) -> str:
    return f"{kind.lower()}s"


def elsewhere(document: Json) -> Json:
    """The same, with a Job, or Jobs, that another controller runs."""
    holder = document["spec"]["jobTemplate"] if document["kind"] == "CronJob" else document
    holder["spec"] |= ELSEWHERE
    return document


def path_of(document: Json, namespace: str) -> str:
    name = plural(document["kind"])
    return f"/{GROUPS[name]}/namespaces/{namespace}/{name}"


def texts(reply: Reply, before: str = BEFORE) -> tuple[str, ...]:
    """What the policy warns of, of a request that was carried out all the same.

    That a template names a LocalQueue which does not exist, the webhook warns of beside it.
    """
    assert reply.code in (200, 201), reply.body
    told = (warning.rstrip('"') for warning in reply.warnings)
    found = tuple(text for text in told if not text.startswith("LocalQueue "))
    assert all(text.startswith(before) for text in found), found
    return tuple(text.removeprefix(before) for text in found)


async def type_checking(client: Client, policy: str) -> Json:
    """What the apiserver notes on the types in a ValidatingAdmissionPolicy; empty: nothing."""
    path = f"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/{policy}"

    async def status() -> Json:
        found: Json = orjson.loads(await client.get(path))["status"]
        return found

    noted: Json = (await eventually(status, message="the policy has no status"))["typeChecking"]
    return noted


class Writer:
    """A user who writes workloads into a namespace."""

    def __init__(self, apiserver: Impersonation, namespace: str) -> None:
        self._apiserver = apiserver
        self._namespace = namespace

    async def tried(self, document: Json) -> tuple[str, ...]:
        """What would be warned of if this were created."""
        path = path_of(document, self._namespace)
        return texts(await self._apiserver.send(ALICE, "POST", path, document, params={"dryRun": "All"}))

    async def created(self, document: Json) -> tuple[str, ...]:
        """Create it."""
        return texts(await self._apiserver.send(ALICE, "POST", path_of(document, self._namespace), document))

    async def changed(self, document: Json, change: Json, subresource: str = "") -> tuple[str, ...]:
        """Change it as it is in the cluster."""
        path = f"{path_of(document, self._namespace)}/{document['metadata']['name']}{subresource}"
        return texts(await self._apiserver.send(ALICE, "PATCH", path, change, content_type=MERGE_PATCH))


@pytest.fixture
async def writer(apiserver: Impersonation, namespace: str) -> Writer:
    """Somebody whom the apiserver warns already: it heeds a policy a moment after it is written."""
    made = Writer(apiserver, namespace)

    async def is_warned() -> bool:
        return bool(await made.tried(workload("Deployment", QUEUED)))

    await eventually(is_warned, message="the policy is not in effect")
    return made


def told_of(document: Json) -> tuple[str, ...]:
    """What `penstock policy explain` says of it; of a Job that is stored by now, that its template stays as it is."""
    said = labelled_in_vain(document)
    return tuple(f"{text} and create the Job again" for text in said) if document["kind"] == "Job" else said


@pytest.mark.parametrize("kind", IN_VAIN)
async def test_a_label_on_the_workload_alone_is_warned_of(writer: Writer, kind: str) -> None:
    in_vain = workload(kind, QUEUED)
    (told,) = await writer.tried(in_vain)
    assert told.startswith(f"metadata.labels[{QUEUE_NAME}]: 'main' on {kind} {kind.lower()} means nothing")
    assert (told,) == told_of(in_vain)


@pytest.mark.parametrize("kind", VERSIONS)
async def test_a_template_with_a_queue_or_none_is_not_warned_of(writer: Writer, kind: str) -> None:
    for right in (workload(kind), workload(kind, template=QUEUED), workload(kind, QUEUED, QUEUED, QUEUED)):
        assert await writer.tried(right) == told_of(right) == ()


async def test_a_label_that_holds_jobs_is_not_warned_of(writer: Writer) -> None:
    for right in (workload("Job", QUEUED), workload("CronJob", jobs=QUEUED), workload("CronJob", QUEUED, jobs=QUEUED)):
        assert await writer.tried(right) == told_of(right) == ()


async def test_jobs_that_another_controller_runs_are_warned_of(writer: Writer) -> None:
    for in_vain in (elsewhere(workload("Job", QUEUED)), elsewhere(workload("CronJob", jobs=QUEUED))):
        (told,) = await writer.tried(in_vain)
        assert "since another controller runs the Job (spec.managedBy)" in told
        assert (told,) == told_of(in_vain)
    for right in (elsewhere(workload("Job", QUEUED, QUEUED)), elsewhere(workload("CronJob"))):
        assert await writer.tried(right) == told_of(right) == ()


async def test_an_object_is_named_that_the_apiserver_gives_its_name(writer: Writer) -> None:
    unnamed = elsewhere(workload("Job", QUEUED))
    unnamed["metadata"]["generateName"] = f"{unnamed['metadata'].pop('name')}-"
    (told,) = await writer.tried(unnamed)
    assert re.search(r" on Job job-[a-z0-9]{5} means nothing", told), told


async def test_both_wrong_places_of_a_cron_job_are_told(writer: Writer) -> None:
    on_jobs = elsewhere(workload("CronJob", jobs=QUEUED))
    (told,) = await writer.tried(on_jobs)
    assert (told,) == told_of(on_jobs)
    assert told.startswith(f"spec.jobTemplate.metadata.labels[{QUEUE_NAME}]: 'main' on CronJob cronjob")
    both = elsewhere(workload("CronJob", {QUEUE_NAME: "a"}, jobs={QUEUE_NAME: "b"}))
    assert sorted(await writer.tried(both)) == sorted(told_of(both))
    assert len(told_of(both)) == 2


async def test_an_update_that_writes_the_label_is_warned_of(writer: Writer) -> None:
    web = workload("Deployment", QUEUED)
    assert await writer.created(web) == told_of(web)
    assert await writer.changed(web, {"metadata": {"annotations": {"note": "a"}, "labels": {"app": "b"}}}) == ()
    assert await writer.changed(web, {"spec": {"replicas": 1}}) == ()
    assert await writer.changed(web, {"spec": {"replicas": 0}}, "/scale") == ()
    assert await writer.changed(web, {"status": {"observedGeneration": 0}}, "/status") == ()
    image = {"containers": [{"name": "main", "image": "newer"}]}
    assert await writer.changed(web, {"spec": {"template": {"spec": image}}}) == told_of(web)
    other = {"labels": {QUEUE_NAME: "other"}}
    assert await writer.changed(web, {"metadata": other}) == told_of(workload("Deployment", other["labels"]))
    assert await writer.changed(web, {"spec": {"template": {"metadata": other}}}) == ()
    gone = {"labels": {QUEUE_NAME: None}}
    assert len(await writer.changed(web, {"spec": {"template": {"metadata": gone}}})) == 1
    assert await writer.changed(web, {"metadata": gone}) == ()


async def test_a_label_that_a_workload_gets_later_is_warned_of(writer: Writer) -> None:
    for kind in ("Job", "CronJob"):
        document = elsewhere(workload(kind))
        assert await writer.created(document) == ()
        labelled = elsewhere(workload(kind, QUEUED))
        assert await writer.changed(document, {"metadata": {"labels": QUEUED}}) == told_of(labelled)
    jobs = {"spec": {"jobTemplate": {"metadata": {"labels": QUEUED}}}}
    both = elsewhere(workload("CronJob", QUEUED, jobs=QUEUED))
    assert sorted(await writer.changed(workload("CronJob"), jobs)) == sorted(told_of(both))


@pytest.mark.parametrize(
    ("kind", "maker"),
    [
        ("Job", {"apiVersion": "batch/v1", "kind": "CronJob"}),
        ("ReplicaSet", {"apiVersion": "apps/v1", "kind": "Deployment"}),
        ("StatefulSet", {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet"}),
    ],
)
async def test_what_another_object_made_is_its_makers_business(writer: Writer, kind: str, maker: Json) -> None:
    document = workload(kind, QUEUED)
    document = elsewhere(document) if kind == "Job" else document
    document["metadata"]["ownerReferences"] = [{**maker, "name": "maker", "uid": "7", "controller": True}]
    assert await writer.tried(document) == ()
    del document["metadata"]["ownerReferences"][0]["controller"]
    assert await writer.tried(document) == told_of(document)


async def test_namespaces_left_out_get_no_warning(writer: Writer, apiserver: Impersonation) -> None:
    assert await writer.tried(workload("Deployment", QUEUED))
    assert await Writer(apiserver, "kube-system").tried(workload("Deployment", QUEUED)) == ()


async def test_the_apiserver_finds_the_types_of_the_policy_right(client: Client, writer: Writer) -> None:
    assert await type_checking(client, NAME) == {}


async def test_a_template_queued_by_kueues_label_is_not_warned_of(
    writer: Writer, client: Client, namespace: str
) -> None:
    accepted = {"metadata": {"labels": {KUEUE_LABELS: ACCEPTED}}}
    await client.patch(f"/api/v1/namespaces/{namespace}", accepted, content_type=MERGE_PATCH)

    async def is_silent() -> bool:
        return not await writer.tried(workload("Deployment", {**QUEUED, KUEUE_QUEUE: "main"}))

    await eventually(is_silent, message="the label that Kueue's brings is not seen")
    # Kueue's own manifest is in its place, and ours alone still is not
    assert await writer.tried(workload("Deployment", {KUEUE_QUEUE: "main"})) == ()
    assert len(await writer.tried(workload("Deployment", QUEUED))) == 1

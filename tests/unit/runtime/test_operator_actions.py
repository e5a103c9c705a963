"""`penstock hold` and its kin without a cluster: what is found, what is sent, and what becomes of an answer."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from controller.core.keys import GATE, HELD, POD_GROUP, QUEUE_NAME
from controller.core.queueing.operator_actions import Verb
from controller.kube.errors import Conflict, Forbidden, NotFound, TooManyRequests, Unreachable
from controller.runtime.operator_action_targets import BadTarget, NothingThere, Subject, Target, find
from controller.runtime.operator_actions import OperatorActions, Tally, who
from tests.support.fake_client import FakeClient

Json = dict[str, Any]
PODS = "/api/v1/namespaces/team-a/pods"
OURS = "/apis/penstock.dev/v1alpha1"


def an_object(name: str = "x", *, gated: bool = True, namespace: str = "team-a", **fields: Any) -> Json:
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "resourceVersion": "7"}
    gates = [{"name": GATE}] if gated else []
    return {"metadata": {**metadata, **fields.pop("metadata", {})}, "spec": {"schedulingGates": gates, **fields}}


def raw(document: Json) -> bytes:
    return orjson.dumps(document)


def listed(*documents: Json) -> bytes:
    return raw({"metadata": {}, "items": list(documents)})


async def found(text: str, *answers: bytes | Exception) -> tuple[list[Subject], FakeClient]:
    client = FakeClient().will("GET", *answers)
    return await find(client.as_client, Target.read(text), "team-a"), client


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pod/x", "pod/x"),
        ("pods/x", "pod/x"),
        ("Job/train", "job/train"),
        ("jobs/train", "job/train"),
        ("localqueue/main", "queue/main"),
        ("plq/main", "queue/main"),
        ("pcq/main", "clusterqueue/main"),
        ("lq/main", "queue/main"),
        ("cq/main", "clusterqueue/main"),
        ("group/A_b", "group/A_b"),
        ("StatefulSet/web", "statefulset/web"),
        ("job.batch/train", "job/train"),
        ("jobs.batch/train", "job/train"),
        ("localqueue.penstock.dev/main", "queue/main"),
        ("clusterqueues.penstock.dev/main", "clusterqueue/main"),
        ("clusterqueue.kueue.x-k8s.io/main", "clusterqueue.kueue.x-k8s.io/main"),
        ("job.batch.volcano.sh/train", "job.batch.volcano.sh/train"),
        ("statefulset.apps/web", "statefulset.apps/web"),
        ("sts/web", "statefulset/web"),
        ("rs.apps/web", "replicaset.apps/web"),
        ("rc/web", "replicationcontroller/web"),
        ("deploy/web", "deployment/web"),
        ("ds/web", "daemonset/web"),
        ("cronjobs/web", "cronjob/web"),
        ("cj/web", "cronjob/web"),
    ],
)
def test_a_target_is_a_kind_and_a_name(text: str, expected: str) -> None:
    assert str(Target.read(text)) == expected


@pytest.mark.parametrize("text", ["x", "pod/", "group/", "/x", "pod/x/y", "pod/../nodes", "p?d/x", "job./x", "sts.-/x"])
def test_what_is_no_target_is_told_with_the_forms_that_are(text: str) -> None:
    with pytest.raises(BadTarget, match=r"write pod/NAME, group/NAME, job/NAME, queue/NAME \(a LocalQueue\)"):
        Target.read(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("pod/Bad_Name", "'pod/Bad_Name': 'Bad_Name' is no name of a pod: at most 253 lower case letters, digits, "),
        ("sts.apps/-", "'sts.apps/-': '-' is no name of a sts.apps: at most 253 lower case letters, digits, "),
        ("group/-", "'group/-': '-' is no name of a group: at most 63 letters, digits, "),
    ],
)
def test_a_name_that_cannot_be_is_told_with_what_can(text: str, told: str) -> None:
    with pytest.raises(BadTarget) as refused:
        Target.read(text)
    assert str(refused.value).startswith(told)


@pytest.mark.parametrize(
    ("text", "path", "label"),
    [
        ("pod/x", f"{PODS}/x", "pod team-a/x"),
        ("job/x", "/apis/batch/v1/namespaces/team-a/jobs/x", "job team-a/x"),
        ("queue/x", f"{OURS}/namespaces/team-a/localqueues/x", "queue team-a/x"),
    ],
)
async def test_one_object_is_read_by_its_name(text: str, path: str, label: str) -> None:
    subjects, client = await found(text, raw(an_object()))
    assert [(one.path, one.label) for one in subjects] == [(path, label)]
    assert [call.path for call in client.calls] == [path]


async def test_a_cluster_queue_has_no_namespace() -> None:
    (subject,), _ = await found("clusterqueue/x", raw(an_object(namespace="", stopPolicy="Hold")))
    assert (subject.path, subject.label) == (f"{OURS}/clusterqueues/x", "clusterqueue x")


async def test_of_a_group_those_that_wait_are_meant() -> None:
    subjects, client = await found("group/g", listed(an_object("b"), an_object("a"), an_object("c", gated=False)))
    assert [one.label for one in subjects] == ["pod team-a/a", "pod team-a/b"]
    assert client.calls[0].params["labelSelector"] == f"{POD_GROUP}=g"


async def test_of_an_owner_those_that_it_controls_are_meant() -> None:
    def owned(pod: str, **owner: Any) -> Json:
        return an_object(pod, metadata={"ownerReferences": [{"kind": "StatefulSet", "name": "web", **owner}]})

    pods = (
        owned("mine", controller=True, apiVersion="apps/v1"),
        owned("not-controlled"),
        owned("other", controller=True, name="db"),
        owned("of-another-kind", controller=True, kind="ReplicaSet"),
        owned("of-another-group", controller=True, apiVersion="apps.kruise.io/v1"),
        an_object("alone"),
    )
    for text, meant in (("sts/web", ["mine", "of-another-group"]), ("statefulset.apps/web", ["mine"])):
        subjects, _ = await found(text, listed(*pods))
        assert [one.label for one in subjects] == [f"pod team-a/{name}" for name in meant]


async def test_an_owner_of_the_core_group_means_what_it_controls() -> None:
    owner = {"kind": "ReplicationController", "name": "web", "apiVersion": "v1", "controller": True}
    subjects, _ = await found("rc/web", listed(an_object(metadata={"ownerReferences": [owner]})))
    assert [one.label for one in subjects] == ["pod team-a/x"]


@pytest.mark.parametrize(
    ("text", "answer", "told"),
    [
        (
            "pod/x",
            NotFound(404, "", ""),
            "pod/x does not exist in namespace team-a; kubectl get pods -n team-a lists those that do$",
        ),
        ("pod/x", raw(an_object(gated=False)), "pod team-a/x does not wait at Penstock's gate"),
        ("job/x", NotFound(404, "", ""), "job/x does not exist in namespace team-a; kubectl get jobs -n team-a lists"),
        (
            "queue/x",
            NotFound(404, "", ""),
            "queue/x does not exist in namespace team-a; kubectl get localqueues.penstock.dev -n ",
        ),
        (
            "pcq/x",
            NotFound(404, "", ""),
            "clusterqueue/x does not exist; kubectl get clusterqueues.penstock.dev lists those",
        ),
        ("group/g", listed(), "no pod of the group g waits at Penstock's gate in namespace team-a"),
        ("replicaset/web", listed(an_object()), "no pod that a replicaset web controls waits at Penstock's gate in"),
        (
            "deploy/web",
            listed(an_object()),
            "in namespace team-a: .* are its ReplicaSets': name these, replicaset/NAME",
        ),
        ("deployment.apps/web", listed(), "the pods of a Deployment are its ReplicaSets'"),
        ("cj/web", listed(), "the pods of a CronJob are its Jobs': name these, job/NAME"),
        ("cronjob.batch/web", listed(), "the pods of a CronJob are its Jobs'"),
    ],
)
async def test_what_is_not_there_is_told(text: str, answer: bytes | Exception, told: str) -> None:
    with pytest.raises(NothingThere, match=told):
        await found(text, answer)


async def test_a_job_says_whether_its_template_names_a_queue() -> None:
    template = {"metadata": {"labels": {QUEUE_NAME: "main"}}}
    (named,), _ = await found("job/x", raw(an_object(template=template)))
    (silent,), _ = await found("job/x", raw(an_object(template={"metadata": {}})))
    assert (named.found.names_queue, silent.found.names_queue) == (True, False)


async def test_who_asks_is_what_the_apiserver_says() -> None:
    client = FakeClient().will("POST", raw({"status": {"userInfo": {"username": "jane"}}}))
    assert await who(client.as_client) == "jane"


async def done(client: FakeClient, *documents: Json, verb: Verb = Verb.HOLD, is_dry: bool = False) -> Tally:
    subjects = []
    for document in documents:
        kind = "queue" if "stopPolicy" in document["spec"] else "pod"
        subjects += (await found(f"{kind}/{document['metadata']['name']}", raw(document)))[0]
    actions = OperatorActions(client.as_client, verb, "jane: audit", is_dry=is_dry, on_progress=lambda _: None)
    return await actions.do(subjects)


async def test_a_pod_is_held_by_a_patch_that_names_its_uid() -> None:
    client = FakeClient().will("PATCH", b"{}")
    tally = await done(client, an_object(), an_object("held", metadata={"annotations": {HELD: "jo"}}))
    assert [one.label for one in tally.done] == ["pod team-a/x"]
    assert [(one.label, why) for one, why in tally.spared] == [("pod team-a/held", "is held already (jo)")]
    (call,) = client.calls
    assert call.body == {"metadata": {"uid": "uid-x", "annotations": {HELD: "jane: audit"}}}
    assert call.params == {"fieldManager": "penstock-cli"}


async def test_a_queue_is_held_in_the_version_that_was_read() -> None:
    client = FakeClient().will("PATCH", b"{}")
    await done(client, an_object(stopPolicy="None"), is_dry=True)
    (call,) = client.calls
    metadata = {"uid": "uid-x", "resourceVersion": "7", "annotations": {HELD: "jane: audit"}}
    assert call.body == {"metadata": metadata, "spec": {"stopPolicy": "Hold"}}
    assert call.params["dryRun"] == "All"


async def test_after_a_conflict_it_is_read_again_and_judged_anew() -> None:
    client = FakeClient().will("PATCH", Conflict(409, "", ""), Conflict(409, "", ""))
    by_another = an_object(stopPolicy="Hold", metadata={"annotations": {HELD: "jo"}})
    client.will("GET", raw(an_object(stopPolicy="None", metadata={"resourceVersion": "8"})), raw(by_another))
    tally = await done(client, an_object(stopPolicy="None"))
    assert [why for _, why in tally.spared] == ["has stopPolicy Hold already (jo)"]
    assert client.made("PATCH")[1].body["metadata"]["resourceVersion"] == "8"


@pytest.mark.parametrize(
    "answers", [[NotFound(404, "", "")], [Conflict(409, "", ""), raw(an_object(metadata={"uid": "another"}))]]
)
async def test_what_is_gone_or_another_by_now_needs_nothing(answers: list[Any]) -> None:
    client = FakeClient().will("PATCH", answers[0]).will("GET", *answers[1:])
    tally = await done(client, an_object())
    assert [why for _, why in tally.spared] == ["is gone"]


async def test_a_refusal_is_told_and_the_next_is_tried() -> None:
    client = FakeClient().will("PATCH", Forbidden(403, "Forbidden", "no"), b"{}")
    tally = await done(client, an_object("a"), an_object("b"))
    assert ([one.label for one, _ in tally.refused], [one.label for one in tally.done]) == (
        ["pod team-a/a"],
        ["pod team-a/b"],
    )


async def test_a_busy_apiserver_is_tried_again_an_absent_one_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("controller.runtime.operator_actions.PAUSE_SECONDS", 0.0)
    busy = FakeClient().will("PATCH", TooManyRequests(429, "", ""), b"{}").will("GET", raw(an_object()))
    assert len((await done(busy, an_object())).done) == 1
    away = FakeClient().will("PATCH", *[Unreachable("no answer")] * 99)
    away.will("GET", *[Unreachable("no answer")] * 99)
    tally = await done(away, *(an_object(f"{number}") for number in range(20)))
    assert tally.done == []
    assert 0 < tally.count < 20


@pytest.mark.parametrize(("asked", "kept"), [(2.5, 2.5), (3600.0, 30.0), (0.0, 0.3)])
async def test_an_apiserver_that_says_when_to_ask_again_is_asked_then(
    asked: float, kept: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    async def wait_for(event: Any, seconds: float) -> None:
        event.close()
        waited.append(seconds)
        raise TimeoutError

    monkeypatch.setattr("controller.runtime.operator_actions.asyncio.wait_for", wait_for)
    client = FakeClient().will("PATCH", TooManyRequests(429, "", "", retry_after_seconds=asked), b"{}")
    assert len((await done(client.will("GET", raw(an_object())), an_object())).done) == 1
    assert waited == [kept]

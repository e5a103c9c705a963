from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from controller.core.keys import (
    DEFAULT_QUEUE,
    EXPECTED_RUNTIME,
    GANG,
    GATE,
    POD_GROUP,
    POD_GROUP_MIN,
    POD_GROUP_SIZE,
    POLICIES,
    PRIORITY_CLASS,
    QUEUE_NAME,
    STAMPED_ANNOTATIONS,
    STAMPED_LABELS,
    USER,
    WRITTEN_AT_CREATE,
)
from tests.support.json_patch import patched
from tests.support.worlds import EmptyWorld
from webhook.pods.limits import ENTRIES_MOST
from webhook.reviews.admission import Answer, BadReview, Request, read, write
from webhook.reviews.lookups import ReviewLookups
from webhook.steps import chain
from webhook.steps.chain import mutate

Json = dict[str, Any]
DAEMON_SETS = "system:serviceaccount:kube-system:daemon-set-controller"
OWNED = {"ownerReferences": [{"kind": "DaemonSet", "controller": True}]}
MIRROR = {"annotations": {"kubernetes.io/config.mirror": "x"}}


class AWorld(EmptyWorld):
    """Namespaces by name, and the queue `main` in namespace default. RuntimeClasses are not asked for."""

    def __init__(self, **namespaces: Mapping[str, str]) -> None:
        self._namespaces = namespaces

    def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        return self._namespaces.get(namespace, {})

    def has_local_queue(self, namespace: str, name: str) -> bool:
        return (namespace, name) == ("default", "main")

    def has_priority_class(self, name: str) -> bool:
        return name == "high"


PLAIN = AWorld()
DEFAULTING = AWorld(default={DEFAULT_QUEUE: "main"})


def a_new_pod(queue: str | None = "main", *, metadata: Json | None = None, spec: Json | None = None) -> Json:
    labels = {} if queue is None else {"labels": {QUEUE_NAME: queue}}
    return {
        "metadata": {"creationTimestamp": None, **labels, **(metadata or {})},
        "spec": {"containers": [], **(spec or {})},
    }


def a_request(pod: Json, **fields: Any) -> Request:
    filled: Json = {"operation": "CREATE", "namespace": "default", "subresource": "", "user": "jane", "groups": ()}
    return Request(**{"uid": "1", "pod": pod, **filled, **fields})


def after(pod: Json, world: AWorld = PLAIN, **fields: Any) -> Json:
    """The pod as the apiserver has it after the answer; asking again must change nothing."""
    answer = mutate(a_request(pod, **fields), world)
    assert answer.denial is None
    result = patched(pod, answer.operations)
    assert mutate(a_request(result, **fields), world).operations == ()
    return result


def test_a_pod_that_names_a_queue_is_gated() -> None:
    answer = mutate(a_request(a_new_pod()), PLAIN)
    assert answer == Answer(
        operations=(
            {"op": "add", "path": "/spec/schedulingGates", "value": [{"name": GATE}]},
            {"op": "add", "path": "/metadata/annotations", "value": {USER: "jane"}},
        ),
        audit=(("queue", "main"),),
    )


@pytest.mark.parametrize(
    ("gates", "expected"),
    [
        (None, [GATE]),
        ([], [GATE]),
        ([{"name": "x.dev/g"}], ["x.dev/g", GATE]),
        ([{"name": GATE}], [GATE]),
        ([{"name": GATE}, {"name": "x.dev/g"}], [GATE, "x.dev/g"]),
    ],
)
def test_the_gate_is_added_once_behind_the_gates_of_others(gates: list[Json] | None, expected: list[str]) -> None:
    pod = after(a_new_pod(spec={"schedulingGates": gates}))
    assert [gate["name"] for gate in pod["spec"]["schedulingGates"]] == expected


@pytest.mark.parametrize("metadata", [{}, {"labels": None}, {"labels": {}}, {"labels": {"a/b": "c"}}])
def test_a_pod_without_a_queue_gets_the_namespaces_default(metadata: Json) -> None:
    pod = after(a_new_pod(None, metadata=metadata), DEFAULTING)
    assert pod["metadata"]["labels"] == {**(metadata.get("labels") or {}), QUEUE_NAME: "main"}
    assert pod["spec"]["schedulingGates"] == [{"name": GATE}]


def test_a_queue_that_is_named_wins_over_the_default() -> None:
    assert after(a_new_pod("own"), DEFAULTING)["metadata"]["labels"] == {QUEUE_NAME: "own"}


@pytest.mark.parametrize("name", ["high", "hihg"])
def test_a_misspelt_workload_priority_class_is_warned_of(name: str) -> None:
    answer = mutate(a_request(a_new_pod(metadata={"labels": {QUEUE_NAME: "main", PRIORITY_CLASS: name}})), PLAIN)
    told = (
        "WorkloadPriorityClass 'hihg' does not exist: the pod stays queued until it does, or its label is corrected "
        "(PriorityClassNotFound)",
    )
    assert answer.warnings == (() if name == "high" else told)


def test_a_group_without_a_size_is_warned_of() -> None:
    in_group = {"labels": {QUEUE_NAME: "main", POD_GROUP: "train"}}
    assert mutate(a_request(a_new_pod(metadata=in_group)), PLAIN).warnings == (
        f"the label {POD_GROUP} needs the annotation {POD_GROUP_SIZE}: how many pods the group has "
        "(the pod stays queued until then: GangInvalid)",
    )
    sized = {**in_group, "annotations": {POD_GROUP_SIZE: "2", POD_GROUP_MIN: "2"}}
    assert mutate(a_request(a_new_pod(metadata=sized)), PLAIN).warnings == ()


@pytest.mark.parametrize("runtime", ["1h30m", "soon"])
def test_a_runtime_that_cannot_be_read_is_warned_of(runtime: str) -> None:
    pod = a_new_pod(metadata={"labels": {QUEUE_NAME: "main"}, "annotations": {EXPECTED_RUNTIME: runtime}})
    told = (
        f"the annotation {EXPECTED_RUNTIME} is 'soon', so it says nothing of how long the pod runs; write hours, "
        "minutes and seconds, such as 8h, 90m or 1h30m",
    )
    assert mutate(a_request(pod), PLAIN).warnings == (told if runtime == "soon" else ())


def test_a_minimum_that_is_more_than_the_size_is_warned_of() -> None:
    notes = {POD_GROUP_SIZE: "2", POD_GROUP_MIN: "3"}
    pod = a_new_pod(metadata={"labels": {QUEUE_NAME: "main", POD_GROUP: "train"}, "annotations": notes})
    assert mutate(a_request(pod), PLAIN).warnings == (
        f"the annotation {POD_GROUP_MIN} is 3, more than the 2 of {POD_GROUP_SIZE}; write at most that "
        "(the pod stays queued until then: GangInvalid)",
    )


def test_a_minimum_beside_a_native_pod_group_is_warned_of() -> None:
    metadata = {"labels": {QUEUE_NAME: "main"}, "annotations": {POD_GROUP_MIN: "3"}}
    pod = a_new_pod(metadata=metadata, spec={"schedulingGroup": {"podGroupName": "train"}})
    assert mutate(a_request(pod), PLAIN).warnings == (
        f"the annotation {POD_GROUP_MIN} is not for PodGroup train: its minCount says that "
        "(the pod stays queued until then: GangInvalid)",
    )


def test_a_gang_of_a_job_is_warned_of_where_there_is_no_job() -> None:
    def warned(**metadata: object) -> bool:
        ours = {"labels": {QUEUE_NAME: "main"}, "annotations": {GANG: "true"}, **metadata}
        return bool(mutate(a_request(a_new_pod(metadata=ours)), PLAIN).warnings)

    job = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "j", "controller": True}
    assert [warned(), warned(ownerReferences=[job]), warned(ownerReferences=[{**job, "kind": "ReplicaSet"}])] == [
        True,
        False,
        True,
    ]


def test_a_misspelt_queue_still_gates_and_warns() -> None:
    answer = mutate(a_request(a_new_pod("mian")), PLAIN)
    assert answer.operations != ()
    assert answer.warnings == (
        "LocalQueue 'mian' does not exist in namespace 'default': the pod stays queued until it does (QueueNotFound)",
    )


@pytest.mark.parametrize(
    ("pod", "fields", "world"),
    [
        (a_new_pod(None), {}, PLAIN),
        (a_new_pod(None), {"namespace": "elsewhere"}, DEFAULTING),
        (a_new_pod(), {"operation": "UPDATE"}, PLAIN),
        (a_new_pod(), {"operation": "DELETE"}, PLAIN),
        (a_new_pod(), {"subresource": "binding"}, PLAIN),
        (a_new_pod(metadata=OWNED), {"user": DAEMON_SETS}, PLAIN),
        (a_new_pod(metadata=MIRROR), {"user": "system:node:n", "groups": ("system:nodes",)}, PLAIN),
        ({}, {}, PLAIN),
        ({"metadata": None, "spec": None}, {}, PLAIN),
    ],
)
def test_what_is_not_ours_passes_unchanged(pod: Json, fields: Json, world: AWorld) -> None:
    assert mutate(a_request(pod, **fields), world) == Answer()


@pytest.mark.parametrize(
    ("metadata", "fields"),
    [
        (OWNED, {}),
        ({"ownerReferences": [{"kind": "DaemonSet"}]}, {"user": DAEMON_SETS}),
        ({"ownerReferences": [{"kind": "Job", "controller": True}]}, {"user": DAEMON_SETS}),
        ({}, {"user": DAEMON_SETS}),
        (MIRROR, {}),
        ({}, {"groups": ("system:nodes",)}),
    ],
)
def test_nobody_gets_past_by_pretending(metadata: Json, fields: Json) -> None:
    pod = after(a_new_pod(metadata=metadata), **fields)
    assert pod["spec"]["schedulingGates"] == [{"name": GATE}]


def test_a_pod_of_a_queue_cannot_name_its_node() -> None:
    answer = mutate(a_request(a_new_pod(spec={"nodeName": "n1"})), PLAIN)
    assert answer.denial == (
        "gate-required: spec.nodeName: 'n1' cannot be set on a pod of queue 'main': a pod on a node cannot wait; "
        "remove spec.nodeName, or the label penstock.dev/queue-name"
    )


def test_a_bound_pod_passes_by_the_default_queue_and_says_so() -> None:
    answer = mutate(a_request(a_new_pod(None, spec={"nodeName": "n1"})), DEFAULTING)
    text = "spec.nodeName 'n1' is set, so the pod passes by the namespace's default queue 'main'"
    assert answer == Answer(warnings=(text,), audit=(("passed-by", "main"),))


def test_stamps_of_a_copied_template_go_with_a_warning() -> None:
    labels = {**dict.fromkeys(STAMPED_LABELS, "x"), "a": "b", QUEUE_NAME: "main"}
    annotations = {**dict.fromkeys(STAMPED_ANNOTATIONS, "x"), "a": "b"}
    pod = a_new_pod(metadata={"labels": labels, "annotations": annotations})
    stripped = after(pod)["metadata"]
    assert (stripped["labels"], stripped["annotations"]) == ({"a": "b", QUEUE_NAME: "main"}, {"a": "b", USER: "jane"})
    answer = mutate(a_request(pod), PLAIN)
    names = ", ".join(key for key in (*STAMPED_LABELS, *STAMPED_ANNOTATIONS) if key not in WRITTEN_AT_CREATE)
    assert answer.warnings == (
        f"removed {names}: only Penstock writes these, when it admits the pod",
        f"removed x from {POLICIES}: only Penstock writes it, when a policy changes a pod",
    )
    assert answer.audit == (("stripped", names), ("queue", "main"))


def test_a_default_queue_goes_where_the_last_label_was_stripped() -> None:
    pod = a_new_pod(None, metadata={"labels": {STAMPED_LABELS[0]: "x"}})
    assert after(pod, DEFAULTING)["metadata"]["labels"] == {QUEUE_NAME: "main"}


def test_stamps_are_stripped_from_pods_outside_every_queue_too() -> None:
    pod = a_new_pod(None, metadata={"labels": dict.fromkeys(STAMPED_LABELS, "x")})
    assert after(pod)["metadata"]["labels"] == {}


def test_every_step_sees_the_pod_as_the_steps_before_left_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def count(request: Request, _: ReviewLookups) -> Answer:
        seen = len(request.pod["spec"].get("counted", []))
        return Answer(operations=({"op": "add", "path": "/spec/counted", "value": ["x"] * (seen + 1)},))

    def deny(request: Request, _: ReviewLookups) -> Answer:
        return Answer(denial="no") if len(request.pod["spec"]["counted"]) == 2 else Answer()

    monkeypatch.setattr(chain, "CHAIN", (count, count, deny, count))
    assert mutate(a_request(a_new_pod()), PLAIN) == Answer(denial="no")


def test_a_request_is_not_changed_by_what_is_done_to_it() -> None:
    pod = a_new_pod(None, metadata={"labels": {STAMPED_LABELS[0]: "x"}})
    before = orjson.dumps(pod)
    mutate(a_request(pod), DEFAULTING)
    assert orjson.dumps(pod) == before


def a_review(**request: Any) -> Json:
    filled = {
        "uid": "42",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "operation": "CREATE",
        "namespace": "default",
        "userInfo": {"username": "jane", "groups": ["dev"], "extra": {}},
        "object": a_new_pod(),
        "dryRun": True,
        "options": {"kind": "CreateOptions"},
        **request,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": filled}


def test_a_review_is_read_whatever_else_it_carries() -> None:
    request = read(orjson.dumps({**a_review(), "unknown": [1]}))
    assert (request.uid, request.operation, request.namespace, request.subresource) == ("42", "CREATE", "default", "")
    assert (request.user, request.groups, request.pod) == ("jane", ("dev",), a_new_pod())
    assert request.old is None


def test_an_update_has_the_object_as_it_was() -> None:
    request = read(orjson.dumps(a_review(operation="UPDATE", oldObject=a_new_pod("other"))))
    assert (request.pod, request.old) == (a_new_pod(), a_new_pod("other"))


@pytest.mark.parametrize(
    "absent",
    [
        {"object": None},
        {"userInfo": {}},
        {"userInfo": {"groups": None}},
        {"namespace": ""},
        {"subResource": None},
    ],
)
def test_fields_that_may_be_absent_read_as_empty(absent: Json) -> None:
    request = read(orjson.dumps(a_review(**absent)))
    assert request.uid == "42"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", "the body is not JSON"),
        (b"{", "the body is not JSON"),
        (b"\xff", "the body is not JSON"),
        (b"[]", "the body is not an AdmissionReview"),
        (b"{}", "the body is not an AdmissionReview"),
        (orjson.dumps({**a_review(), "apiVersion": "admission.k8s.io/v1beta1"}), "only admission.k8s.io/v1 is spoken"),
        (orjson.dumps({**a_review(), "request": None}), "request.uid is missing"),
        (orjson.dumps(a_review(uid=None)), "request.uid is missing"),
        (orjson.dumps(a_review(uid=5)), "request.uid is missing"),
        (orjson.dumps(a_review(userInfo=5)), r"request: Expected `object`, got `int` - at `\$.userInfo`"),
        (orjson.dumps(a_review(object={"metadata": {"labels": []}})), r"request: .* at `\$.object.metadata.labels`"),
        (orjson.dumps(a_review(object={"spec": {"schedulingGates": [5]}})), r"request: .*schedulingGates"),
        (orjson.dumps(a_review(oldObject=5)), r"request: Expected `object \| null`, got `int` - at `\$.oldObject`"),
        (orjson.dumps(a_review(resource=None)), "request.resource is not core/v1 pods"),
        (
            orjson.dumps(a_review(resource={"group": "apps", "resource": "pods"})),
            "request.resource is not core/v1 pods",
        ),
    ],
)
def test_a_body_that_is_no_review_of_pods_is_refused(body: bytes, text: str) -> None:
    with pytest.raises(BadReview, match=text):
        read(body)


def response(answer: Answer) -> Json:
    review: Json = orjson.loads(write("42", answer))
    assert (review["apiVersion"], review["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    assert review["response"].pop("uid") == "42"
    result: Json = review["response"]
    return result


def test_an_answer_without_changes_carries_no_patch() -> None:
    assert response(Answer()) == {"allowed": True}


def test_a_change_is_a_base64_json_patch() -> None:
    operations = ({"op": "remove", "path": "/a"},)
    written = response(Answer(operations=operations, warnings=("w",), audit=(("queue", "main"),)))
    assert orjson.loads(base64.b64decode(written.pop("patch"))) == list(operations)
    expected = {"allowed": True, "patchType": "JSONPatch", "warnings": ["w"], "auditAnnotations": {"queue": "main"}}
    assert written == expected


def test_a_denial_says_why_and_changes_nothing() -> None:
    written = response(Answer(denial="no", operations=({"op": "remove", "path": "/a"},)))
    assert written == {"allowed": False, "status": {"code": 403, "reason": "Forbidden", "message": "no"}}


def test_warnings_are_cut_to_what_the_apiserver_passes_on() -> None:
    written = response(Answer(warnings=("x" * 1000,) * 50))
    assert (len(written["warnings"]), {len(text) for text in written["warnings"]}) == (12, {250})


def test_an_update_of_a_gated_pod_is_told_what_is_illegal() -> None:
    gated = {"schedulingGates": [{"name": "any"}], "nodeSelector": {"zone": "a"}}
    old: Json = {"metadata": {"name": "p", "namespace": "d"}, "spec": gated}
    new = {**old, "spec": {**old["spec"], "nodeSelector": {"zone": "b"}}}

    def asked(**fields: Any) -> Answer:
        request = {"uid": "1", "operation": "UPDATE", "namespace": "default", "subresource": "", "user": "jane"}
        return mutate(Request(**{**request, "groups": (), "pod": new, "old": old, **fields}), EmptyWorld())

    assert asked().operations == ()
    assert asked().denial is None
    assert [text.split(": ")[0] for text in asked().warnings] == ["spec.nodeSelector"]
    assert asked(pod=old).warnings == ()
    assert asked(subresource="status").warnings == ()
    free = {**old, "spec": {"nodeSelector": {"zone": "a"}}}
    assert asked(old=free, pod={**free, "spec": {}}).warnings == ()
    long = {"topologySpreadConstraints": [{"topologyKey": f"z-{n}", "maxSkew": 1} for n in range(ENTRIES_MOST + 1)]}
    for spec in (long, {"tolerations": [{"key": str(number)} for number in range(300)]}):
        assert asked(pod={**new, "spec": {**new["spec"], **spec}}).warnings == ()

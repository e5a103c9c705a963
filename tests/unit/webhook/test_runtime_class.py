from __future__ import annotations

from typing import Any

import orjson
import pytest

from controller.core.keys import DEFAULT_RUNTIME_CLASS, GATE, QUEUE_NAME
from controller.core.kubernetes.runtime_classes import RuntimeClass
from controller.core.kubernetes.taints import Toleration
from controller.kube.wire import Owned
from tests.support.classes import ClassyWorld, a_class
from tests.support.json_patch import patched
from tests.support.worlds import EmptyWorld
from webhook.reviews.admission import Answer, BadReview, Request, read
from webhook.reviews.lookups import ReviewLookups
from webhook.steps.chain import mutate
from webhook.world.runtime_classes import KnownClasses

Json = dict[str, Any]

SANDBOXED = {"key": "sandboxed", "operator": "Exists"}
KATA = a_class("kata", Toleration("sandboxed", "Exists"), selector={"runtime/kind": "kata"}, cpu="250m")
GVISOR = a_class("gvisor", selector={"runtime/kind": "gvisor"})
MERGED = {
    "runtimeClassName": "kata",
    "nodeSelector": {"runtime/kind": "kata"},
    "tolerations": [SANDBOXED],
    "overhead": {"cpu": "250m"},
}
DAEMON_SETS = "system:serviceaccount:kube-system:daemon-set-controller"
OWNED = {"ownerReferences": [{"kind": "DaemonSet", "controller": True}]}
MIRROR = {"annotations": {"kubernetes.io/config.mirror": "x"}}
BY_NAMESPACE = f"(set by label {DEFAULT_RUNTIME_CLASS} of namespace 'default')"
BY_FLAG = "(set for the cluster by --default-runtime-class)"


class Off(EmptyWorld):
    """A world whose webhook only gates, in a namespace that has a default class all the same."""

    def namespace_labels(self, namespace: str) -> dict[str, str]:
        return {DEFAULT_RUNTIME_CLASS: "kata"}

    def has_local_queue(self, namespace: str, name: str) -> bool:
        return True


DEBUGGING: Json = {"nodeName": "node-1", "tolerations": [{"operator": "Exists"}]}


def a_request(spec: Json | None = None, *, metadata: Json | None = None, **fields: Any) -> Request:
    pod = {"metadata": metadata or {}, "spec": {"containers": [], **(spec or {})}}
    filled: Json = {"operation": "CREATE", "namespace": "default", "subresource": "", "user": "jane", "groups": ()}
    return Request(**{"uid": "1", "pod": pod, **filled, **fields})


def after(spec: Json, world: ReviewLookups) -> Json:
    """The pod's spec after the answer; asking again must change nothing."""
    request = a_request(spec)
    answer = mutate(request, world)
    assert answer.denial is None
    result = patched(dict(request.pod), answer.operations)
    assert mutate(a_request(result["spec"]), world) == Answer()
    left: Json = result["spec"]
    left.pop("containers")
    return left


def denial(spec: Json, world: ReviewLookups) -> str:
    answer = mutate(a_request(spec), world)
    assert answer.denial is not None
    assert answer.operations == ()
    return answer.denial


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, MERGED),
        ({"runtimeClassName": None}, MERGED),
        ({"runtimeClassName": ""}, MERGED),
        ({"nodeSelector": None, "tolerations": None, "overhead": None}, MERGED),
        ({"nodeSelector": {}, "tolerations": [], "overhead": {}}, MERGED),
        ({"nodeSelector": {"a": "1"}}, {**MERGED, "nodeSelector": {"a": "1", "runtime/kind": "kata"}}),
        ({"nodeSelector": {"runtime/kind": "kata"}}, MERGED),
        ({"tolerations": [SANDBOXED]}, MERGED),
        ({"tolerations": [{**SANDBOXED, "effect": "NoSchedule"}]}, MERGED),
        ({"tolerations": [{"operator": "Exists"}]}, {**MERGED, "tolerations": [{"operator": "Exists"}]}),
        (
            {"tolerations": [{"key": "x", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}]},
            {
                **MERGED,
                "tolerations": [
                    {"key": "x", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0},
                    SANDBOXED,
                ],
            },
        ),
        ({"overhead": {"cpu": "0.25"}}, {**MERGED, "overhead": {"cpu": "0.25"}}),
    ],
)
def test_a_pod_without_a_class_gets_the_default_and_its_rules(spec: Json, expected: Json) -> None:
    assert after(spec, ClassyWorld(KATA, default="kata")) == expected


def test_a_class_that_the_pod_names_is_merged_too() -> None:
    assert after({"runtimeClassName": "kata"}, ClassyWorld(KATA)) == MERGED


@pytest.mark.parametrize(
    ("own", "of_namespace", "of_cluster", "expected"),
    [
        ("own", "gvisor", "kata", "own"),
        ("own", None, None, "own"),
        (None, "gvisor", "kata", "gvisor"),
        (None, "", "kata", "kata"),
        (None, None, "kata", "kata"),
        (None, "gvisor", None, "gvisor"),
        (None, None, None, None),
    ],
)
def test_the_pods_class_goes_before_namespace_and_cluster(
    own: str | None, of_namespace: str | None, of_cluster: str | None, expected: str | None
) -> None:
    world = ClassyWorld(KATA, GVISOR, RuntimeClass(name="own"), default=of_cluster, namespace_default=of_namespace)
    spec = {} if own is None else {"runtimeClassName": own}
    assert after(spec, world).get("runtimeClassName") == expected


@pytest.mark.parametrize(
    ("spec", "metadata", "fields", "world"),
    [
        ({}, {}, {}, Off()),
        ({"runtimeClassName": "absent"}, {}, {}, Off()),
        ({}, {}, {}, ClassyWorld(KATA)),
        ({"overhead": {"cpu": "1"}}, {}, {}, ClassyWorld(KATA)),
        ({}, {}, {"operation": "UPDATE"}, ClassyWorld(KATA, default="kata")),
        ({}, {}, {"subresource": "binding"}, ClassyWorld(KATA, default="kata")),
        ({}, OWNED, {"user": DAEMON_SETS}, ClassyWorld(KATA, default="kata")),
        ({}, MIRROR, {"groups": ("system:nodes",)}, ClassyWorld(KATA, default="kata")),
        ({"runtimeClassName": "absent"}, MIRROR, {"groups": ("system:nodes",)}, ClassyWorld(KATA)),
        (MERGED, {}, {}, ClassyWorld(KATA, default="kata")),
        # as `kubectl debug node/node-1` makes it: the class's selector may not be its node's
        (DEBUGGING, {}, {}, ClassyWorld(KATA, default="kata")),
        (DEBUGGING, {}, {}, ClassyWorld(KATA, namespace_default="kata")),
    ],
)
def test_what_needs_no_class_passes_unchanged(spec: Json, metadata: Json, fields: Json, world: ReviewLookups) -> None:
    assert mutate(a_request(spec, metadata=metadata, **fields), world) == Answer()


def test_a_bound_pod_that_names_its_class_gets_all_of_it() -> None:
    world = ClassyWorld(KATA, GVISOR, default="gvisor")
    assert after({**DEBUGGING, "runtimeClassName": "kata"}, world)["nodeSelector"] == {"runtime/kind": "kata"}


def test_a_pod_without_a_spec_passes() -> None:
    assert mutate(a_request(pod={"metadata": {}}), ClassyWorld(KATA, default="kata")) == Answer()


@pytest.mark.parametrize(
    ("metadata", "fields"),
    [(OWNED, {}), ({}, {"user": DAEMON_SETS}), (MIRROR, {}), ({}, {"groups": ("system:nodes",)})],
)
def test_nobody_gets_past_the_default_by_pretending(metadata: Json, fields: Json) -> None:
    answer = mutate(a_request(metadata=metadata, **fields), ClassyWorld(KATA, default="kata"))
    assert answer.audit == (("runtime-class", "kata"),)


def test_a_queued_pod_gets_its_class_and_its_gate() -> None:
    request = a_request(metadata={"labels": {QUEUE_NAME: "main"}})
    answer = mutate(request, ClassyWorld(KATA, default="kata"))
    spec = patched(dict(request.pod), answer.operations)["spec"]
    assert spec == {"containers": [], **MERGED, "schedulingGates": [{"name": GATE}]}
    assert answer.audit == (("runtime-class", "kata"), ("queue", "main"))


@pytest.mark.parametrize(
    ("spec", "world", "text"),
    [
        (
            {"runtimeClassName": "kata", "nodeSelector": {"runtime/kind": "runc"}},
            ClassyWorld(KATA),
            "spec.nodeSelector[runtime/kind] is 'runc', but RuntimeClass 'kata' demands 'kata' "
            "(scheduling.nodeSelector); remove runtime/kind from the pod's nodeSelector, or set it to 'kata', "
            "or use another class",
        ),
        (
            {"nodeSelector": {"runtime/kind": "runc"}},
            ClassyWorld(KATA, default="kata"),
            f"spec.nodeSelector[runtime/kind] is 'runc', but the default RuntimeClass 'kata' {BY_FLAG} demands 'kata' "
            "(scheduling.nodeSelector); remove runtime/kind from the pod's nodeSelector, or set it to 'kata', "
            "or name another class in spec.runtimeClassName",
        ),
        (
            {"overhead": {"cpu": "1"}},
            ClassyWorld(KATA, namespace_default="kata"),
            f"spec.overhead is cpu 1, but the default RuntimeClass 'kata' {BY_NAMESPACE} demands cpu 250m "
            "(overhead.podFixed); remove spec.overhead: it is set from the class, "
            "or name another class in spec.runtimeClassName",
        ),
    ],
)
def test_a_contradiction_names_values_class_and_remedy(spec: Json, world: ReviewLookups, text: str) -> None:
    assert denial(spec, world) == text


@pytest.mark.parametrize(
    ("spec", "world", "text"),
    [
        (
            {"runtimeClassName": "legacy"},
            ClassyWorld(KATA, GVISOR),
            "spec.runtimeClassName: RuntimeClass 'legacy' does not exist: create it, or name one that does; "
            "there are gvisor, kata",
        ),
        (
            {"runtimeClassName": "legacy"},
            ClassyWorld(),
            "spec.runtimeClassName: RuntimeClass 'legacy' does not exist: create it, or name one that does; "
            "there are none",
        ),
        (
            {},
            ClassyWorld(*(a_class(f"c{number}") for number in range(8)), default="absent"),
            f"the default RuntimeClass 'absent' {BY_FLAG} does not exist: create it, correct the default, "
            "or name one in spec.runtimeClassName; there are c0, c1, c2, c3, c4 and 3 more",
        ),
        (
            {},
            ClassyWorld(KATA, default="kata", namespace_default="absent"),
            f"the default RuntimeClass 'absent' {BY_NAMESPACE} does not exist: create it, correct the default, "
            "or name one in spec.runtimeClassName; there are kata",
        ),
    ],
)
def test_a_missing_class_is_told_with_who_asked_and_what_is(spec: Json, world: ReviewLookups, text: str) -> None:
    assert denial(spec, world) == text


@pytest.mark.parametrize(
    "spec",
    [{"runtimeClassName": 5}, {"nodeSelector": []}, {"tolerations": [5]}, {"overhead": {"cpu": []}}],
)
def test_a_pod_of_the_wrong_form_is_a_bad_review(spec: Json) -> None:
    request = {"uid": "1", "resource": {"group": "", "resource": "pods"}, "object": {"metadata": {}, "spec": spec}}
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    with pytest.raises(BadReview, match=r"request: Expected"):
        read(orjson.dumps(body))


def test_classes_come_change_and_go() -> None:
    known = KnownClasses(None)
    known.upsert(KATA)
    known.upsert(a_class("kata"))
    assert known.get("kata") == a_class("kata")
    known.remove(Owned(name="kata"))
    known.remove(Owned(name="kata"))
    assert known.names() == []

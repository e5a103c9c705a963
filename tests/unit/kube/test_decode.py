from __future__ import annotations

from typing import Any

import pytest

from controller.core.keys import CONDITION, GATE, POLICIES
from controller.core.kubernetes.runtime_classes import RuntimeClass
from controller.core.kubernetes.taints import Taint, Toleration
from controller.core.reasons import Reason
from controller.core.workloads.pods import SpecPresence
from controller.kube.decode import PodDecoder, decode_metadata, decode_node, decode_runtime_class
from controller.kube.errors import UnreadableObject
from tests.support.builders import GPU, a_saying, a_term, an_outline
from tests.support.constraints import allows
from tests.support.pod_documents import CREATED, a_container, a_node_document, a_pod_document, decoded, raw
from tests.support.pod_update_rules import PREFERRED, REQUIRED

Json = dict[str, Any]
ZONE: Json = {"key": "zone", "operator": "In", "values": ["b", "a"]}
WRITTEN = {"message": "behind", "lastProbeTime": CREATED, "lastTransitionTime": "2026-01-01T00:00:00Z"}
DELETED = {"deletionTimestamp": "2026-03-01T09:00:00Z", "deletionGracePeriodSeconds": 30}
PIN: Json = {
    "weight": 100,
    "preference": {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]},
}


def test_a_queued_pod_is_read() -> None:
    pod = decoded(a_pod_document("a", gates=["x.dev/g", GATE], spec={"priority": 7}, cpu="1500m", memory="1Gi"))
    assert (pod.key, pod.uid, pod.queue, pod.gates) == ("default/a", "a", "main", ("x.dev/g", GATE))
    assert (pod.generation, pod.resource_version, pod.priority, pod.created) == (1, "7", 7, 1772352000.0)
    assert pod.shape.requests == (("cpu", 1500), ("memory", 2**30), ("pods", 1))
    assert (pod.node, pod.is_finished, pod.is_terminating, pod.hold, pod.said) == (None, False, False, None, None)
    assert (pod.gone_by, pod.grace, pod.has_annotations) == (0.0, 0, False)
    assert (pod.cluster_queue, pod.flavor, pod.pinned) == (None, None, None)


def test_a_running_pod_is_read_with_stamps_and_condition() -> None:
    labels = {"penstock.dev/cluster-queue": "team-a", "penstock.dev/flavor": "spot"}
    conditions = [
        {"type": "PodScheduled", "status": "True"},
        {"type": CONDITION, "status": "False", "reason": "Priority", **WRITTEN},
    ]
    pod = decoded(
        a_pod_document(
            gates=(),
            metadata={"labels": labels, "annotations": {}, **DELETED},
            spec={"nodeName": "n1"},
            status={"phase": "Succeeded", "conditions": conditions},
        )
    )
    assert (pod.cluster_queue, pod.flavor, pod.queue, pod.node) == ("team-a", "spot", None, "n1")
    assert (pod.is_finished, pod.is_terminating, pod.has_annotations) == (True, True, True)
    # the apiserver has added the grace period to the time of the request already
    assert (pod.gone_by, pod.grace) == (1772355600.0, 30)
    assert pod.said == a_saying("False", "Priority", message="behind", at=1772352000.0)


@pytest.mark.parametrize(("phase", "is_finished"), [("Failed", True), ("Running", False), ("Pending", False)])
def test_a_pod_is_finished_when_its_phase_says_so(phase: str, *, is_finished: bool) -> None:
    assert decoded(a_pod_document(status={"phase": phase})).is_finished is is_finished


@pytest.mark.parametrize(
    ("noted", "policies"),
    [
        ("wide", ("wide",)),
        ("wide,default/own,default/other", ("wide", "default/own", "default/other")),
        ("wide,elsewhere/own,wide,SchedulingPolicy/a,", ("wide", "SchedulingPolicy/a")),
        ("", ()),
        ("w" * 5000, ()),
    ],
)
def test_the_policies_that_a_pod_carries_are_read_and_kept_once(noted: str, policies: tuple[str, ...]) -> None:
    decode = PodDecoder()
    first, second = (
        decode(raw(a_pod_document(name, metadata={"annotations": {POLICIES: noted}}))) for name in ("a", "b")
    )
    assert first.policies == policies
    assert first.policies is second.policies


def test_only_labels_that_are_asked_for_are_kept() -> None:
    document = raw(a_pod_document(metadata={"labels": {"team": "one", "app": "x", "other": "y"}}))
    assert PodDecoder(("team", "app", "none"))(document).labels == (("app", "x"), ("team", "one"))
    assert PodDecoder()(document).labels == ()


@pytest.mark.parametrize("absent", [{}, None, "missing"])
def test_optional_parts_may_be_empty_null_or_absent(absent: Any) -> None:
    document = a_pod_document()
    for part in ("nodeSelector", "affinity", "overhead", "resources"):
        document["spec"][part] = absent
        if absent == "missing":
            del document["spec"][part]
    document["spec"]["tolerations"] = document["spec"]["initContainers"] = None
    document["metadata"]["annotations"] = document["metadata"]["labels"] = None
    pod = decoded(document)
    expected = an_outline("node_selector", "affinity") if absent == {} else SpecPresence()
    assert (pod.outline, pod.shape.constraints.terms, pod.queue, pod.has_annotations) == (expected, None, None, False)


@pytest.mark.parametrize(
    ("affinity", "parts", "terms"),
    [
        (None, (), None),
        ({}, ("affinity",), None),
        ({"podAffinity": {}}, ("affinity",), None),
        ({"nodeAffinity": None}, ("affinity",), None),
        ({"nodeAffinity": {}}, ("affinity", "node_affinity"), None),
        ({"nodeAffinity": {PREFERRED: []}}, ("affinity", "node_affinity", "preferred"), None),
        ({"nodeAffinity": {PREFERRED: [PIN]}}, ("affinity", "node_affinity", "preferred"), None),
        ({"nodeAffinity": {REQUIRED: {}}}, ("affinity", "node_affinity"), ()),
        ({"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": None}}}, ("affinity", "node_affinity"), ()),
        ({"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{}]}}}, ("affinity", "node_affinity"), (a_term(),)),
        (
            {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [ZONE]}]}, PREFERRED: [PIN]}},
            ("affinity", "node_affinity", "preferred"),
            (a_term("zone In b,a"),),
        ),
        (
            {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": None, "matchFields": [ZONE]}]}}},
            ("affinity", "node_affinity"),
            (a_term(fields=["zone In b,a"]),),
        ),
    ],
)
def test_every_presence_of_affinity_is_told_apart(affinity: Json | None, parts: tuple[str, ...], terms: Any) -> None:
    pod = decoded(a_pod_document(spec={} if affinity is None else {"affinity": affinity}))
    assert (pod.outline, pod.shape.constraints.terms) == (an_outline(*parts), terms)


def test_selector_and_tolerations_become_one_canonical_form() -> None:
    tolerations = [{"key": "a"}, {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}]
    pod = decoded(a_pod_document(spec={"nodeSelector": {"b": "2", "a": "1"}, "tolerations": tolerations}))
    assert pod.shape.constraints.node_selector == (("a", "1"), ("b", "2"))
    expected = (Toleration("a", "Equal"), Toleration("", "Exists", "", "NoExecute", 300))
    assert pod.shape.constraints.tolerations == expected
    assert pod.outline == an_outline("node_selector", "tolerations")


@pytest.mark.parametrize(
    ("preferred", "pinned"),
    [
        ([PIN], "n1"),
        ([{**PIN, "weight": 99}], None),
        ([PIN, {"weight": 100, "preference": {"matchExpressions": [ZONE]}}], "n1"),
        (
            [
                {
                    "weight": 100,
                    "preference": {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["x"]}]},
                }
            ],
            None,
        ),
        ([{"weight": 100, "preference": {}}], None),
    ],
)
def test_only_our_own_pin_is_read_as_one(preferred: list[Json], pinned: str | None) -> None:
    assert decoded(a_pod_document(spec={"affinity": {"nodeAffinity": {PREFERRED: preferred}}})).pinned == pinned


def test_pods_of_one_make_share_one_shape() -> None:
    decode = PodDecoder()
    one, two = (decode(raw(a_pod_document(name, cpu="1"))) for name in "ab")
    assert one.shape is two.shape
    assert decode(raw(a_pod_document("c", cpu="1000m"))).shape is one.shape
    assert decode(raw(a_pod_document("d", cpu="2"))).shape != one.shape


def test_demand_counts_inits_sidecars_pod_level_and_overhead() -> None:
    spec = {
        "initContainers": [a_container("side", restart="Always", cpu="1"), a_container("init", cpu="5")],
        "resources": {"requests": {"memory": "1Ki"}},
        "overhead": {"cpu": "250m"},
    }
    pod = decoded(a_pod_document(spec=spec, requests={"cpu": "2", "memory": "9Ki", GPU: "1"}))
    assert pod.shape.requests == (("cpu", 6250), ("memory", 1024), (GPU, 1), ("pods", 1))


def test_demands_of_sidecars_and_init_containers_stay_apart() -> None:
    decode = PodDecoder()
    container = a_container("x", cpu="1")
    specs: list[Json] = [
        {"containers": [container, container]},
        {"containers": [container], "initContainers": [container]},
        {"containers": [container], "initContainers": [{**container, "restartPolicy": "Always"}]},
        {"containers": [container], "resources": {"requests": {"cpu": "7"}}},
        {"containers": [container], "overhead": {"cpu": "7"}},
    ]
    demands = [dict(decode(raw(a_pod_document(spec=spec))).shape.requests)["cpu"] for spec in specs * 2]
    assert demands == [2000, 1000, 2000, 7000, 8000] * 2


def test_what_a_node_reports_counts_once_the_pod_is_bound() -> None:
    reported = {"name": "main", "allocatedResources": {"cpu": "2"}, "resources": {"requests": {"cpu": "3"}}}
    status = {"containerStatuses": [reported, {"name": "gone"}]}
    bound = a_pod_document(spec={"nodeName": "n1"}, gates=(), status=status)
    assert dict(decoded(bound).shape.requests)["cpu"] == 3000
    assert dict(decoded(a_pod_document(status=status)).shape.requests)["cpu"] == 1000
    pending = [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]
    resized = a_pod_document(spec={"nodeName": "n1"}, gates=(), status={**status, "conditions": pending}, cpu="9")
    assert dict(decoded(resized).shape.requests)["cpu"] == 3000


def test_what_a_node_reports_of_a_sidecar_counts_too() -> None:
    reported = {"name": "side", "resources": {"requests": {"cpu": "4"}}}
    spec = {"nodeName": "n1", "initContainers": [a_container("side", restart="Always", cpu="1")]}
    bound = a_pod_document(spec=spec, gates=(), status={"initContainerStatuses": [reported]})
    assert dict(decoded(bound).shape.requests)["cpu"] == 5000


@pytest.mark.parametrize(("claims", "is_held"), [([{"name": "gpu"}], True), ([], False), (None, False)])
def test_a_pod_with_claims_is_held(claims: Any, *, is_held: bool) -> None:
    hold = decoded(a_pod_document(spec={"resourceClaims": claims})).hold
    assert (hold is not None and hold.reason is Reason.UNSUPPORTED_RESOURCE_CLAIMS) is is_held


def test_an_uncountable_demand_holds_the_pod_and_names_it() -> None:
    pod = decoded(a_pod_document(cpu="1e40"))
    assert pod.hold is not None
    assert pod.hold.reason is Reason.INVALID_REQUESTS
    assert pod.hold.text.startswith("spec.containers[main].resources.requests.cpu: '1e40' is too large")
    assert pod.shape.requests == ()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"{}",
        raw({"metadata": None}),
        raw(a_pod_document(metadata={"labels": {"a": 1}})),
        raw(a_pod_document(metadata={"creationTimestamp": "yesterday"})),
        raw(a_pod_document(spec={"containers": 5})),
        raw(a_pod_document(spec={"nodeSelector": ["a"]})),
        raw(a_pod_document(spec={"tolerations": {"a": "b"}})),
        raw(
            a_pod_document(
                spec={"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchFields": [{}]}]}}}}
            )
        ),
        raw(a_pod_document(cpu=[1])),
    ],
)
def test_bytes_that_are_no_pod_are_refused_in_one_way(body: bytes) -> None:
    with pytest.raises(UnreadableObject, match=r"^pod: "):
        PodDecoder()(body)


def test_a_term_with_a_later_operator_matches_no_node() -> None:
    terms = [{"matchExpressions": [{"key": "a", "operator": "Like"}]}]
    affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}
    pod = PodDecoder()(raw(a_pod_document(spec={"affinity": affinity})))
    assert pod.shape.constraints.terms == (a_term(),)
    assert not allows(pod.shape.constraints, "n", {"a": "x"})


def test_a_node_is_read() -> None:
    taints = [{"key": "spot", "value": "yes", "effect": "NoSchedule", "timeAdded": "2026-03-01T08:00:00Z"}]
    node = decode_node(raw(a_node_document(spec={"taints": taints})))
    assert (node.name, node.labels, node.taints) == ("node-1", {"pool": "spot"}, (Taint("spot", "yes", "NoSchedule"),))
    assert node.allocatable == {"cpu": 4000, "memory": 16316148 * 1024, "pods": 110}
    assert node.is_usable


@pytest.mark.parametrize(
    "parts",
    [
        {"spec": {"unschedulable": True}},
        {"status": {"conditions": [{"type": "Ready", "status": "False"}]}},
        {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}},
        {"status": {"conditions": None}},
    ],
)
def test_a_node_that_is_cordoned_or_not_ready_is_not_usable(parts: Json) -> None:
    node = decode_node(raw(a_node_document(**parts)))
    assert not node.is_usable
    assert node.is_cordoned is ("spec" in parts)
    assert node.is_ready is ("spec" in parts)


def test_a_node_with_a_time_that_is_none_is_unreadable() -> None:
    condition = {"type": "Ready", "status": "False", "lastTransitionTime": "10000-01-01T00:00:00Z"}
    with pytest.raises(UnreadableObject, match=r"node: .*10000-01-01T00:00:00Z"):
        decode_node(raw(a_node_document(status={"conditions": [condition]})))


@pytest.mark.parametrize(("status", "since"), [("False", 1772352000), ("Unknown", 1772352000), ("True", 0)])
def test_a_node_says_since_when_it_is_not_ready(status: str, since: int) -> None:
    condition = {"type": "Ready", "status": status, "lastTransitionTime": "2026-03-01T08:00:00Z"}
    assert decode_node(raw(a_node_document(status={"conditions": [condition]}))).not_ready_since == since


def test_a_node_that_was_never_ready_has_no_time_since_when() -> None:
    assert decode_node(raw(a_node_document(status={"conditions": None}))).not_ready_since == 0


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({}, RuntimeClass(name="kata", handler="runk")),
        ({"scheduling": None, "overhead": None}, RuntimeClass(name="kata", handler="runk")),
        ({"scheduling": {}, "overhead": {}}, RuntimeClass(name="kata", handler="runk", tolerations=())),
        (
            {
                "scheduling": {
                    "nodeSelector": {"a": "1"},
                    "tolerations": [{"key": "k", "value": "v", "effect": "NoExecute", "tolerationSeconds": 5}],
                },
                "overhead": {"podFixed": {"cpu": "250m"}},
            },
            RuntimeClass(
                name="kata",
                handler="runk",
                node_selector={"a": "1"},
                tolerations=(Toleration("k", "", "v", "NoExecute", 5),),
                overhead={"cpu": "250m"},
            ),
        ),
    ],
)
def test_a_runtime_class_is_read(parts: Json, expected: RuntimeClass) -> None:
    assert decode_runtime_class(raw({"metadata": {"name": "kata"}, "handler": "runk", **parts})) == expected


def test_bytes_that_are_no_runtime_class_are_refused() -> None:
    with pytest.raises(UnreadableObject, match=r"^runtimeclass: "):
        decode_runtime_class(b'{"metadata": {}, "scheduling": 5}')


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"{", "node: "),
        (raw(a_node_document(status={"allocatable": {"cpu": "many"}})), "node node-1: status.allocatable: 'many'"),
        (raw(a_node_document(metadata={"labels": 5})), "node: "),
    ],
)
def test_bytes_that_are_no_node_are_refused_in_one_way(body: bytes, text: str) -> None:
    with pytest.raises(UnreadableObject, match=f"^{text}"):
        decode_node(body)


def test_the_metadata_of_anything_is_read() -> None:
    assert decode_metadata(raw({"kind": "X", "metadata": {"name": "a", "labels": None}})).name == "a"
    with pytest.raises(UnreadableObject, match=r"^object: "):
        decode_metadata(b"{}")

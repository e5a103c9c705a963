from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.core.gate.release_patch import release_patch
from controller.core.keys import (
    ADMITTED_AT,
    ADMITTED_BY,
    CLUSTER_QUEUE,
    FLAVOR,
    GATE,
    PLANNED_NODE,
    PREEMPTIONS,
    QUEUE_NAME,
)
from controller.core.kubernetes.taints import Toleration
from controller.core.pod_update import may_change
from controller.core.queueing.queues import Flavor
from controller.core.workloads.topology import Domain
from tests.support.builders import a_flavor
from tests.support.json_patch import PatchFailed, patched
from tests.support.pod_documents import ADMISSION, CREATED, a_pod_document, decoded
from tests.support.pod_update_rules import PREFERRED, REQUIRED

Json = dict[str, Any]
ZONE_A: Json = {"key": "zone", "operator": "In", "values": ["a"]}
GPU_EXISTS: Json = {"key": "gpu", "operator": "Exists"}
NAMED: Json = {"key": "metadata.name", "operator": "In", "values": ["node-9"]}
PIN: Json = {"weight": 100, "preference": {"matchFields": [{**NAMED, "values": ["node-1"]}]}}
OWN_PREFERENCE: Json = {"weight": 5, "preference": {"matchExpressions": [ZONE_A]}}
TOLERATION: Json = {"key": "spot", "operator": "Exists", "effect": "NoSchedule"}
LABELS = a_flavor("spot")
REQUIREMENTS = a_flavor("spot", labels={}, requirements=["zone In a", "gpu Exists"])
NOTHING = a_flavor("spot", labels={})


def patch_of(document: Json, flavor: Flavor, *, node: str | None = "node-1") -> list[Json]:
    return release_patch(decoded(document), [flavor], ADMISSION, node=node)


def released(document: Json, flavor: Flavor = NOTHING, *, node: str | None = "node-1") -> Json:
    """The spec after the patch; it has to be a legal update."""
    after = patched(document, patch_of(document, flavor, node=node))
    assert may_change(document, after) == ()
    spec: Json = after["spec"]
    return spec


def required(*terms: Json, **more: Any) -> Json:
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}, **more}}}


def test_the_gate_is_gone_and_the_stamps_are_on() -> None:
    document = a_pod_document()
    after = patched(document, patch_of(document, LABELS))
    assert after["spec"]["schedulingGates"] == []
    stamped = {**document["metadata"]["labels"], CLUSTER_QUEUE: "team-a", FLAVOR: "spot"}
    assert after["metadata"]["labels"] == stamped
    assert after["metadata"]["annotations"] == {ADMITTED_AT: CREATED, ADMITTED_BY: "leader"}


def test_the_number_of_preemptions_is_noted_where_any_were() -> None:
    document = a_pod_document()
    after = patched(document, release_patch(decoded(document), [NOTHING], replace(ADMISSION, preemptions=2), node=None))
    assert after["metadata"]["annotations"][PREEMPTIONS] == "2"
    assert decoded(after).preemptions == 2
    for text in ("", "-1", "9" * 9, "two"):
        after["metadata"]["annotations"][PREEMPTIONS] = text
        assert decoded(after).preemptions == 0


def test_a_number_that_stood_there_before_is_not_believed() -> None:
    document = a_pod_document()
    document["metadata"].setdefault("annotations", {})[PREEMPTIONS] = "6"
    after = patched(document, release_patch(decoded(document), [NOTHING], ADMISSION, node=None))
    assert decoded(after).preemptions == 0


def test_without_pin_the_node_is_noted_and_not_preferred() -> None:
    document = a_pod_document()
    after = patched(document, release_patch(decoded(document), [NOTHING], ADMISSION, node="node-1", is_pinned=False))
    assert "affinity" not in after["spec"]
    assert after["metadata"]["annotations"][PLANNED_NODE] == "node-1"
    assert decoded(after).pinned == "node-1"
    nowhere = patched(document, release_patch(decoded(document), [NOTHING], ADMISSION, node=None, is_pinned=False))
    assert PLANNED_NODE not in nowhere["metadata"]["annotations"]


@pytest.mark.parametrize(("node", "is_pinned"), [(None, True), (None, False), ("node-2", True), ("node-2", False)])
def test_a_node_preferred_before_is_not_the_planned_one(node: str | None, is_pinned: bool) -> None:
    preferring = a_pod_document(spec={"affinity": {"nodeAffinity": {PREFERRED: [PIN]}}})
    carrying = a_pod_document(metadata={"annotations": {PLANNED_NODE: "node-9"}})
    for document in (preferring, carrying):
        operations = release_patch(decoded(document), [NOTHING], ADMISSION, node=node, is_pinned=is_pinned)
        after = patched(document, operations)
        assert may_change(document, after) == ()
        assert decoded(after).pinned == node


def test_a_preferred_domain_is_preferred_a_required_required() -> None:
    document = a_pod_document()
    for domain in (Domain("zone", "a"), Domain("zone", "a", is_required=False)):
        operations = release_patch(decoded(document), [NOTHING], ADMISSION, node=None, domains=[domain])
        affinity = patched(document, operations)["spec"]["affinity"]["nodeAffinity"]
        term = {"matchExpressions": [ZONE_A]}
        required, preferred = {"nodeSelectorTerms": [term]}, [{"weight": 50, "preference": term}]
        assert affinity == ({REQUIRED: required} if domain.is_required else {PREFERRED: preferred})


def test_other_annotations_stay() -> None:
    document = a_pod_document(metadata={"annotations": {"a/b~c": "1"}})
    after = patched(document, patch_of(document, LABELS))
    assert after["metadata"]["annotations"] == {"a/b~c": "1", ADMITTED_AT: CREATED, ADMITTED_BY: "leader"}


def test_an_annotation_that_came_in_between_refuses_the_patch() -> None:
    document = a_pod_document()
    changed = a_pod_document(metadata={"annotations": {"a": "1"}})
    with pytest.raises(PatchFailed, match="/metadata/annotations"):
        patched(changed, patch_of(document, LABELS))


@pytest.mark.parametrize(
    ("metadata", "spec", "path"),
    [
        ({"uid": "another"}, {}, "/metadata/uid"),
        ({"generation": 2}, {}, "/metadata/generation"),
        ({}, {"schedulingGates": [{"name": "other"}, {"name": GATE}]}, "/spec/schedulingGates/0/name"),
    ],
)
def test_a_pod_that_is_not_the_one_we_read_refuses_the_patch(metadata: Json, spec: Json, path: str) -> None:
    changed = a_pod_document(metadata=metadata, spec=spec)
    with pytest.raises(PatchFailed, match=path):
        patched(changed, patch_of(a_pod_document(), LABELS))


def test_without_a_generation_the_resource_version_guards() -> None:
    document = a_pod_document(metadata={"generation": 0})
    assert released(document)["schedulingGates"] == []
    changed = a_pod_document(metadata={"generation": 0, "resourceVersion": "8"})
    with pytest.raises(PatchFailed, match="/metadata/resourceVersion"):
        patched(changed, patch_of(document, LABELS))


def test_a_patch_applied_twice_fails_its_own_tests() -> None:
    document = a_pod_document()
    operations = patch_of(document, LABELS)
    with pytest.raises(PatchFailed):
        patched(patched(document, operations), operations)


@pytest.mark.parametrize(
    ("own", "flavor", "expected"),
    [
        (None, {"pool": "spot"}, {"pool": "spot"}),
        ({"zone": "a"}, {"pool": "spot"}, {"zone": "a", "pool": "spot"}),
        ({"pool": "spot"}, {"pool": "spot"}, {"pool": "spot"}),
        ({}, {"x.dev/a": "1"}, {"x.dev/a": "1"}),
        ({"zone": "a"}, {"x.dev/a": "1"}, {"zone": "a", "x.dev/a": "1"}),
        (None, {}, None),
    ],
)
def test_node_labels_go_where_the_key_is_free(own: Json | None, flavor: Json, expected: Json | None) -> None:
    document = a_pod_document(spec={} if own is None else {"nodeSelector": own})
    assert released(document, a_flavor("spot", labels=flavor)).get("nodeSelector") == expected


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"affinity": {}},
        {"affinity": {"podAffinity": {}}},
        {"affinity": {"nodeAffinity": {}}},
        {"affinity": {"nodeAffinity": {PREFERRED: [OWN_PREFERENCE]}}},
        {"affinity": {"nodeAffinity": {PREFERRED: []}}},
    ],
)
@pytest.mark.parametrize("node", ["node-1", None])
def test_without_requirements_the_flavor_is_the_only_term(spec: Json, node: str | None) -> None:
    after = released(a_pod_document(spec=spec), REQUIREMENTS, node=node)["affinity"]["nodeAffinity"]
    assert after[REQUIRED] == {"nodeSelectorTerms": [{"matchExpressions": [ZONE_A, GPU_EXISTS]}]}
    own = (spec.get("affinity") or {}).get("nodeAffinity", {}).get(PREFERRED) or []
    assert after.get(PREFERRED, []) == (own if node is None else [*own, PIN])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([{"matchExpressions": [GPU_EXISTS]}], [{"matchExpressions": [GPU_EXISTS, ZONE_A]}]),
        ([{"matchExpressions": [ZONE_A, GPU_EXISTS]}], [{"matchExpressions": [ZONE_A, GPU_EXISTS]}]),
        ([{"matchFields": [NAMED]}], [{"matchFields": [NAMED], "matchExpressions": [ZONE_A, GPU_EXISTS]}]),
        (
            [{"matchExpressions": [], "matchFields": [NAMED]}],
            [{"matchExpressions": [ZONE_A, GPU_EXISTS], "matchFields": [NAMED]}],
        ),
        ([{}, {"matchExpressions": [ZONE_A]}], [{}, {"matchExpressions": [ZONE_A, GPU_EXISTS]}]),
        (
            [{"matchExpressions": [{**ZONE_A, "values": ["a", "b"]}]}],
            [{"matchExpressions": [{**ZONE_A, "values": ["a", "b"]}, ZONE_A, GPU_EXISTS]}],
        ),
    ],
)
def test_every_required_term_is_narrowed_at_its_tail(before: list[Json], after: list[Json]) -> None:
    spec = released(a_pod_document(spec=required(*before)), REQUIREMENTS)
    assert spec["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"] == after


def test_a_pod_that_contradicts_its_flavor_gets_no_patch() -> None:
    with pytest.raises(ValueError, match=r"pod default/pod, flavor spot: .* contradicts it on pool"):
        patch_of(a_pod_document(spec={"nodeSelector": {"pool": "steady"}}), LABELS)


def test_pod_affinity_and_other_preferences_stay() -> None:
    other = {"podAntiAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}}]}}
    spec = required({"matchExpressions": [GPU_EXISTS]}, **{PREFERRED: [OWN_PREFERENCE]})
    spec["affinity"].update(other)
    after = released(a_pod_document(spec=spec), REQUIREMENTS)["affinity"]
    assert after["podAntiAffinity"] == other["podAntiAffinity"]
    assert after["nodeAffinity"][PREFERRED] == [OWN_PREFERENCE, PIN]


def test_without_rule_or_node_the_affinity_is_left_alone() -> None:
    assert "affinity" not in released(a_pod_document(), NOTHING, node=None)
    own = required({"matchExpressions": [ZONE_A]})
    assert released(a_pod_document(spec=own), LABELS, node=None)["affinity"] == own["affinity"]


def test_the_planned_node_can_be_read_back_from_the_pin() -> None:
    document = a_pod_document(spec={"affinity": {"nodeAffinity": {PREFERRED: [{**PIN, "weight": 99}]}}})
    after = patched(document, patch_of(document, REQUIREMENTS, node="node-7"))
    assert decoded(after).pinned == "node-7"


@pytest.mark.parametrize(
    ("own", "flavor", "expected"),
    [
        (None, Toleration("spot", "Exists", effect="NoSchedule"), [TOLERATION]),
        ([], Toleration("spot", "Exists", effect="NoSchedule"), [TOLERATION]),
        ([TOLERATION], Toleration("spot", "Exists", effect="NoSchedule"), [TOLERATION]),
        ([{"key": "a", "value": "b"}], Toleration("a", "Equal", "b"), [{"key": "a", "value": "b"}]),
        (
            [{"operator": "Exists"}],
            Toleration("a", "Exists", effect="NoExecute", seconds=0),
            [
                {"operator": "Exists"},
                {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0},
            ],
        ),
    ],
)
def test_tolerations_are_added_once(own: list[Json] | None, flavor: Toleration, expected: list[Json]) -> None:
    document = a_pod_document(spec={} if own is None else {"tolerations": own})
    assert released(document, a_flavor("spot", labels={}, tolerations=[flavor]))["tolerations"] == expected


def test_nothing_else_of_the_pod_is_touched() -> None:
    document = a_pod_document(metadata={"annotations": {}})
    after = patched(document, patch_of(document, NOTHING, node=None))
    after["spec"]["schedulingGates"] = document["spec"]["schedulingGates"]
    after["metadata"]["annotations"] = {}
    for key in (CLUSTER_QUEUE, FLAVOR):
        del after["metadata"]["labels"][key]
    assert after == document
    assert QUEUE_NAME in after["metadata"]["labels"]

"""The step that merges policies into pod templates: which objects it treats, where it writes, and what it says."""

from __future__ import annotations

from typing import Any
from unittest.mock import ANY

import orjson
import pytest

from controller.core.keys import DEFAULT_QUEUE, GATE, POLICIES, QUEUE_NAME
from tests.support.api_objects import Json, cluster_pod_policy, field_requirement, node_terms, pod_policy, requirement
from tests.support.json_patch import patched
from tests.support.pod_update_rules import REQUIRED
from tests.support.policy_worlds import PolicyWorld
from tests.support.worlds import TEMPLATE_CONTROLLER
from webhook.reviews.admission import Answer, BadReview
from webhook.reviews.templates import WORKLOADS, TemplateRequest, read_template
from webhook.steps.templates import mutate_template

SPOT = {"key": "spot", "operator": "Exists"}
OF_A_CONTROLLER = {"ownerReferences": [{"kind": "Other"}, {"kind": "Deployment", "controller": True}]}
DEPLOYMENTS = {"group": "apps", "version": "v1", "resource": "deployments"}
RESOURCES = [*WORKLOADS]
REVISIONS = [resource for resource, workload in WORKLOADS.items() if workload.is_revision]
JOBS = ("batch", "jobs")
ACCOUNTS = "system:serviceaccount:kube-system:"
ALL = "system:kube-controller-manager"


def for_templates(name: str = "batch", **spec: Any) -> Json:
    return pod_policy(name, **{"target": "PodTemplates", "nodeSelector": {"a": "1"}, **spec})


def a_template(metadata: Json | None = None, **spec: Any) -> Json:
    return {"metadata": metadata or {}, "spec": {"schedulerName": "default-scheduler", "containers": [], **spec}}


def holding(template: Json | None, resource: Any = ("apps", "deployments"), metadata: Json | None = None) -> Json:
    """An object of this kind around the template."""
    document: Any = template
    for name in reversed(WORKLOADS[resource].path):
        document = {name: document}
    return {"metadata": {"labels": {"of": "the object"}, **(metadata or {})}, **document}


def a_request(
    written: Json, resource: Any = ("apps", "deployments"), old: Json | None = None, **fields: Any
) -> TemplateRequest:
    request = {
        "uid": "1",
        "operation": "CREATE" if old is None else "UPDATE",
        "namespace": "default",
        "resource": {"group": resource[0], "version": "v1", "resource": resource[1]},
        "object": written,
        "oldObject": old,
    }
    return reviewed({**request, **fields})


def reviewed(request: Json) -> TemplateRequest:
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return read_template(orjson.dumps(review))


def after(template: Json, world: PolicyWorld, resource: Any = ("apps", "deployments")) -> Json:
    """The template as it is stored when the object is made; asked again, nothing changes and nobody is warned."""
    written = holding(template, resource)
    answer = mutate_template(a_request(written, resource), world)
    assert answer.denial is None
    result = patched(written, answer.operations)
    again = mutate_template(a_request(result, resource), world)
    assert (again.operations, [text for text in again.warnings if text.startswith("removed")]) == ((), [])
    for name in WORKLOADS[resource].path:
        result = result[name]
    return result


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource[1])
def test_templates_of_every_kind_get_their_policies(resource: Any) -> None:
    world = PolicyWorld(
        cluster_pod_policy("wide", target="PodTemplates", tolerations=[SPOT]),
        for_templates(affinity=node_terms({"matchExpressions": [requirement("In", "x")]})),
        pod_policy("for-pods", nodeSelector={"b": "1"}),
    )
    template = after(a_template({"labels": {"app": "x"}}), world, resource)
    assert template["spec"]["nodeSelector"] == {"a": "1"}
    assert template["spec"]["tolerations"] == [SPOT]
    assert template["spec"]["affinity"] == node_terms({"matchExpressions": [requirement("In", "x")]})
    assert template["metadata"] == {"labels": {"app": "x"}, "annotations": {POLICIES: "wide,default/batch"}}


@pytest.mark.parametrize(("labels", "is_given"), [({"app": "x"}, True), ({"of": "the object"}, False)])
def test_the_labels_of_the_template_decide(labels: Json, is_given: bool) -> None:
    world = PolicyWorld(for_templates(podSelector={"matchLabels": {"app": "x"}}))
    assert ("nodeSelector" in after(a_template({"labels": labels}), world)["spec"]) is is_given


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource[1])
@pytest.mark.parametrize(
    "user", [f"{ACCOUNTS}deployment-controller", f"{ACCOUNTS}cronjob-controller", ALL, TEMPLATE_CONTROLLER]
)
def test_what_is_made_from_another_template_is_left_alone(resource: Any, user: str) -> None:
    written = holding(a_template(), resource, OF_A_CONTROLLER)
    answer = mutate_template(a_request(written, resource, userInfo={"username": user}), PolicyWorld(for_templates()))
    right = {
        "replicasets": {f"{ACCOUNTS}deployment-controller", ALL, TEMPLATE_CONTROLLER},
        "jobs": {f"{ACCOUNTS}cronjob-controller", ALL, TEMPLATE_CONTROLLER},
        "replicationcontrollers": {TEMPLATE_CONTROLLER},
    }
    assert (answer == Answer()) is (user in right.get(resource[1], ()))


@pytest.mark.parametrize("resource", REVISIONS, ids=lambda resource: resource[1])
@pytest.mark.parametrize("user", ["jane", "", "system:serviceaccount:default:deployment-controller"])
def test_an_owner_anybody_wrote_keeps_no_policy_away(resource: Any, user: str) -> None:
    written = holding(a_template(nodeSelector={"a": "2"}), resource, OF_A_CONTROLLER)
    world = PolicyWorld(for_templates(onConflict="Reject"))
    assert mutate_template(a_request(written, resource, userInfo={"username": user}), world).denial is not None


@pytest.mark.parametrize("resource", REVISIONS, ids=lambda resource: resource[1])
def test_what_a_controller_makes_on_its_own_account_is_treated(resource: Any) -> None:
    user = {"username": WORKLOADS[resource].maker or TEMPLATE_CONTROLLER}
    request = a_request(holding(a_template(), resource), resource, userInfo=user)
    assert mutate_template(request, PolicyWorld(for_templates())).operations


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource[1])
def test_an_update_of_the_template_is_treated_where_possible(resource: Any) -> None:
    old, new = holding(a_template(), resource), holding(a_template(priority=1), resource)
    answer = mutate_template(a_request(new, resource, old), PolicyWorld(for_templates()))
    assert bool(answer.operations) is (resource[1] != "jobs")


@pytest.mark.parametrize(
    "change",
    [
        {"nodeSelector": {"c": "d"}},
        {"tolerations": [SPOT]},
        {"schedulingGates": [{"name": "example.com/other"}]},
        {"affinity": node_terms({"matchExpressions": [requirement("In", "x")]})},
        {"metadata": {"labels": {"c": "d"}}},
        {"metadata": {"annotations": {"c": "d"}}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_jobs_template_is_treated_when_its_user_changes_it(change: Json) -> None:
    old, new = holding(a_template(), JOBS), holding(a_template(**change), JOBS)
    answer = mutate_template(a_request(new, JOBS, old), PolicyWorld(for_templates()))
    assert patched(new, answer.operations)["spec"]["template"]["spec"]["nodeSelector"]["a"] == "1"


def test_a_jobs_policy_can_refuse_what_its_user_makes_of_it() -> None:
    world = PolicyWorld(for_templates(onConflict="Reject"))
    old, new = holding(a_template(nodeSelector={"a": "1"}), JOBS), holding(a_template(nodeSelector={"a": "2"}), JOBS)
    assert mutate_template(a_request(new, JOBS, old), world).denial is not None


PODS_APART = {"podAntiAffinity": {REQUIRED: [{"topologyKey": "zone"}]}}
ALL_FIXED: Json = {"schedulerName": "other", "nodeName": "n1", "affinity": PODS_APART}


def test_a_jobs_template_gets_nothing_unchangeable() -> None:
    world = PolicyWorld(for_templates(**ALL_FIXED, onConflict="Reject"))
    old, new = holding(a_template(), JOBS), holding(a_template(tolerations=[SPOT]), JOBS)
    answer = mutate_template(a_request(new, JOBS, old), world)
    template = patched(new, answer.operations)["spec"]["template"]
    in_place_of_the_name = node_terms({"matchFields": [field_requirement("n1")]})
    kept = a_template({"annotations": {POLICIES: "default/batch"}}, tolerations=[SPOT], nodeSelector={"a": "1"})
    assert template == {**kept, "spec": {**kept["spec"], "affinity": in_place_of_the_name}}
    again = holding(template, JOBS)
    assert mutate_template(a_request(again, JOBS, old), world).operations == ()


def test_what_a_jobs_template_got_is_noted_after_an_update() -> None:
    world = PolicyWorld(for_templates(nodeSelector={}, **ALL_FIXED))
    made = after(a_template(), world, JOBS)
    assert (made["spec"]["nodeName"], made["spec"]["schedulerName"], made["spec"]["affinity"]) == (
        "n1",
        "other",
        PODS_APART,
    )
    new = holding({**made, "spec": {**made["spec"], "tolerations": [SPOT]}}, JOBS)
    assert mutate_template(a_request(new, JOBS, holding(made, JOBS)), world) == Answer(
        counted=(("default/batch", "unchanged"),), outcome=ANY
    )


def test_an_update_that_keeps_the_template_starts_no_rollout() -> None:
    old = holding(a_template())
    new = {**holding(a_template()), "metadata": {"labels": {"of": "somebody"}}}
    assert mutate_template(a_request(new, old=old), PolicyWorld(for_templates())) == Answer()


@pytest.mark.parametrize(
    ("metadata", "fields"),
    [
        ({"deletionTimestamp": "2026-01-01T00:00:00Z"}, {"operation": "UPDATE"}),
        ({}, {"subResource": "scale"}),
        ({}, {"operation": "DELETE"}),
    ],
)
def test_what_is_going_or_not_being_written_is_left_alone(metadata: Json, fields: Json) -> None:
    request = a_request(holding(a_template(), metadata=metadata), **fields)
    assert mutate_template(request, PolicyWorld(for_templates())) == Answer()


def test_an_object_without_a_template_is_left_alone() -> None:
    controllers = ("", "replicationcontrollers")
    objects: list[Json] = [holding(None, controllers), {"metadata": {}, "spec": {}}, {"metadata": {}}]
    for written in objects:
        assert mutate_template(a_request(written, controllers), PolicyWorld(for_templates())) == Answer()


def test_three_terms_stay_three_without_their_annotation() -> None:
    terms = [{"matchExpressions": [requirement("In", value)]} for value in ("x", "y", "z")]
    world = PolicyWorld(for_templates(nodeSelector={}, affinity=node_terms(*terms)))
    template = after(a_template(), world)
    for number in range(5):
        template = after(a_template(priority=number, affinity=template["spec"]["affinity"]), world)
        assert template["spec"]["affinity"] == node_terms(*terms)


@pytest.mark.parametrize(
    ("metadata", "labels", "gates"),
    [
        ({"labels": {QUEUE_NAME: "main"}}, {}, None),
        ({}, {DEFAULT_QUEUE: "main"}, None),
        ({}, {}, [{"name": "example.com/other"}]),
    ],
)
def test_a_waiting_template_is_held_to_its_node_by_affinity(metadata: Json, labels: Json, gates: Any) -> None:
    world = PolicyWorld(for_templates(nodeSelector={}, nodeName="n1"), labels=labels)
    spec = after(a_template(metadata, schedulingGates=gates), world)["spec"]
    assert spec.get("nodeName") is None
    assert spec["affinity"] == node_terms({"matchFields": [field_requirement("n1")]})
    assert spec["schedulingGates"] == gates, "the queue's gate is for pods"
    assert GATE not in str(spec)
    assert after(a_template(), PolicyWorld(for_templates(nodeName="n1")))["spec"]["nodeName"] == "n1"


def test_texts_name_the_template_and_its_place() -> None:
    cron_jobs = ("batch", "cronjobs")
    written = holding(a_template(nodeSelector={"a": "own"}), cron_jobs)
    world = PolicyWorld(for_templates(tolerations=[SPOT]), for_templates("told", mode="Warn", onConflict="Reject"))
    assert mutate_template(a_request(written, cron_jobs), world).warnings == (
        "PodSchedulingPolicy 'batch' is left out in part of the template at spec.jobTemplate.spec.template: "
        "spec.nodeSelector[a] is 'own', not '1'",
        "PodSchedulingPolicy 'told' (mode Warn) would refuse the template at spec.jobTemplate.spec.template, but "
        "spec.nodeSelector[a] is 'own', not '1'",
    )
    refused = mutate_template(a_request(written, cron_jobs), PolicyWorld(for_templates(onConflict="Reject")))
    assert refused.denial == (
        "PodSchedulingPolicy 'batch' refuses the template at spec.jobTemplate.spec.template: spec.nodeSelector[a] is "
        "'own', not '1'; change the template at spec.jobTemplate.spec.template, or ask who keeps the policy "
        "(onConflict: Reject)"
    )
    assert refused.counted == (("default/batch", "refused"),)
    assert refused.audit == (("policy-conflicts", "default/batch: spec.nodeSelector[a] is 'own', not '1'"),)


def test_a_users_note_is_removed_with_a_warning_ours_without() -> None:
    world = PolicyWorld(for_templates(), pod_policy("for-pods", nodeSelector={"a": "1"}))
    old = holding(a_template({"annotations": {POLICIES: "gone,default/batch"}}, nodeSelector={"a": "1"}))
    names = "gone,forged,default/for-pods,default/batch"
    new = holding(a_template({"annotations": {POLICIES: names}}, nodeSelector={"a": "1"}))
    answer = mutate_template(a_request(new, old=old), world)
    assert answer.operations == (
        {"op": "add", "path": "/spec/template/metadata/annotations/penstock.dev~1policies", "value": "default/batch"},
    )
    assert answer.warnings == (
        f"removed forged, default/for-pods from {POLICIES}: only Penstock writes it, when a policy changes a pod",
    )


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"resource": {"group": "", "resource": "pods"}}, "request.resource has no pod template"),
        ({"resource": {"resource": "replicationcontrollers"}}, "request.resource has no pod template"),
        ({"resource": {"group": [], "resource": "jobs"}}, "request.resource has no pod template"),
        ({"resource": None}, "request.resource has no pod template"),
        ({"object": {"metadata": {"ownerReferences": 3}, "spec": {}}}, "request.object: Expected `array | null`"),
        ({"object": {"metadata": {}, "spec": 3}}, "request.object: spec.template is not an object"),
        ({"object": {"metadata": {}, "spec": {"template": []}}}, "request.object: spec.template is not an object"),
        ({"object": 3}, "request.object: spec.template is not an object"),
        ({"oldObject": {"spec": {"template": 3}}}, "request.oldObject: spec.template is not an object"),
        ({"object": holding({"metadata": {"labels": 3}, "spec": {}})}, "request: Expected `object | null`"),
        ({"object": holding({"metadata": {}})}, "request: Object missing required field `spec`"),
    ],
)
def test_what_is_no_object_with_a_template_is_a_bad_review(change: Json, text: str) -> None:
    with pytest.raises(BadReview, match="^" + text.replace("|", r"\|")):
        reviewed({"uid": "1", "resource": DEPLOYMENTS, "object": holding(a_template()), **change})

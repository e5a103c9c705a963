"""The demo's objects and pods, as data."""

from __future__ import annotations

from typing import Any

import pytest

from controller.api.parse import parse_cluster_queue, parse_local_queue, parse_resource_flavor
from controller.core.keys import GATE, QUEUE_NAME
from controller.demo import tenancy, workload, world
from controller.demo.world import RUN_LABEL, DemoSetup
from controller.kube.manifests import load_documents
from controller.sandbox.nodes import check_shape
from controller.sandbox.shipped import manifests

WORLDS = [world.of_sandbox("abc"), world.of_cluster("abc")]
_PARSERS: dict[str, Any] = {
    "ResourceFlavor": parse_resource_flavor,
    "ClusterQueue": parse_cluster_queue,
    "LocalQueue": parse_local_queue,
}


def test_both_teams_share_a_parent_and_one_keeps_a_part() -> None:
    queues = {one["metadata"]["name"]: one["spec"] for one in world.objects(WORLDS[0]) if one["kind"] == "ClusterQueue"}
    assert queues["teams"] == {}
    assert {queues[name]["parent"] for name in ("team-a", "team-b")} == {"teams"}
    lent = [quota.get("lendingLimit") for one in queues["team-b"]["flavors"] for quota in one["resources"]]
    assert lent == ["8", "16Gi", "4", "8Gi"]


@pytest.mark.parametrize("here", WORLDS)
def test_every_object_is_legal_and_carries_the_label_of_the_run(here: DemoSetup) -> None:
    objects = world.objects(here)
    for body in objects:
        assert body["metadata"]["labels"] == {RUN_LABEL: "abc"}
        _PARSERS.get(body["kind"], lambda body: body)(body)
    assert {body["kind"] for body in objects} >= set(_PARSERS)


def test_nothing_on_a_foreign_cluster_lacks_the_prefix() -> None:
    for body in world.objects(world.of_cluster("abc")):
        assert body["metadata"].get("namespace", body["metadata"]["name"]).startswith("demo-abc-")


def test_flavors_of_a_foreign_cluster_do_not_look_at_its_nodes() -> None:
    specs = [body["spec"] for body in world.objects(world.of_cluster("abc")) if body["kind"] == "ResourceFlavor"]
    assert [spec["capacity"]["mode"] for spec in specs] == ["Static", "Static"]
    assert all(spec.keys() == {"capacity"} for spec in specs)


def test_the_node_shapes_are_legal() -> None:
    assert [check_shape(shape) for shape in world.NODE_SHAPES] == list(world.NODE_SHAPES)


def test_the_same_seed_makes_the_same_pods() -> None:
    here = WORLDS[0]
    assert workload.pods(here, 50, 1) == workload.pods(here, 50, 1)
    assert workload.pods(here, 50, 1) != workload.pods(here, 50, 2)


def test_pods_differ_in_team_size_time_and_priority() -> None:
    here = WORLDS[0]
    made = workload.pods(here, 300, 1)
    assert {pod["metadata"]["namespace"] for pod in made} == {"team-a", "team-b"}
    assert {pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] for pod in made} == {"1", "2", "4"}
    assert len({pod["metadata"]["annotations"]["run-for"] for pod in made}) > 3
    assert 0 < sum("priorityClassName" in pod["spec"] for pod in made) < 100
    assert len({(pod["metadata"]["namespace"], pod["metadata"]["name"]) for pod in made}) == 300


@pytest.mark.parametrize("here", WORLDS)
def test_pods_name_their_queue_and_are_gated_where_needed(here: DemoSetup) -> None:
    for pod in workload.pods(here, 20, 1):
        assert pod["metadata"]["labels"][QUEUE_NAME] == "main"
        gates = pod["spec"].get("schedulingGates")
        assert gates == (None if here.is_gated_by_webhook else [{"name": GATE}])
        assert ("activeDeadlineSeconds" in pod["spec"]) == here.on_real_nodes


def test_no_pod_is_larger_than_a_quota_and_a_node() -> None:
    assert max(workload.UNITS) <= min(quota.units for team in WORLDS[0].teams for quota in team.quotas)
    assert max(workload.UNITS) <= min(int(shape.cpu) for shape in world.NODE_SHAPES)


def test_the_path_of_everything_that_is_applied_is_known() -> None:
    shipped = [*load_documents(manifests("crd")), *load_documents(manifests("rbac"))]
    made = {one["kind"]: tenancy.path_of(one) for one in [*shipped, *world.objects(WORLDS[1])]}
    assert made == {
        "ClusterQueue": "/apis/penstock.dev/v1alpha1/clusterqueues/demo-abc-team-b",
        "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles/penstock-webhook",
        "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/penstock-webhook",
        "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
        "workloadpriorityclasses.penstock.dev",
        "FlowSchema": "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/penstock-lease",
        "LocalQueue": "/apis/penstock.dev/v1alpha1/namespaces/demo-abc-team-b/localqueues/main",
        "Namespace": "/api/v1/namespaces/demo-abc-team-b",
        "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses/demo-abc-demo-urgent",
        "PriorityLevelConfiguration": "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations/penstock",
        "ResourceFlavor": "/apis/penstock.dev/v1alpha1/resourceflavors/demo-abc-on-demand",
        "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/penstock-system/roles/penstock-leader-election",
        "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/penstock-system/rolebindings/"
        "penstock-leader-election",
        "ServiceAccount": "/api/v1/namespaces/penstock-system/serviceaccounts/penstock-webhook",
    }

"""`penstock import kueue`: what becomes of each field, what is told, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from controller.cli.main import root
from tests.support.api_objects import Json, cluster_queue, local_queue, priority_class, resource_flavor
from tests.support.kueue_objects import (
    V1,
    V2,
    kueue_cohort,
    kueue_flavor,
    kueue_group,
    kueue_object,
    kueue_queue,
    kueue_quota,
)

CPU = kueue_group(("spot", [kueue_quota("cpu", 8)]))


def convert(*documents: Any, options: tuple[str, ...] = ()) -> Result:
    return CliRunner().invoke(root, ["import", "kueue", "-f", "-", *options], input=yaml.safe_dump_all(documents))


def converted(*documents: Any, options: tuple[str, ...] = ()) -> dict[str, Json]:
    """Our objects as `Kind/name`."""
    done = convert(*documents, options=options)
    assert done.exit_code == 0, done.output
    return {f"{one['kind']}/{one['metadata']['name']}": one for one in yaml.safe_load_all(done.stdout)}


def specs(*documents: Any, options: tuple[str, ...] = ()) -> Json:
    return {name: one["spec"] for name, one in converted(*documents, options=options).items()}


def test_a_cluster_queue_keeps_what_the_two_have_alike() -> None:
    group = kueue_group(
        ("spot", [kueue_quota("cpu", "8", borrow="4", lend=2), kueue_quota("pods", 10)]),
        ("dear", [kueue_quota("cpu", 0), kueue_quota("pods", 5)]),
    )
    selector = {"matchExpressions": [{"key": "team", "operator": "In", "values": ["a"]}]}
    queue = kueue_queue(
        "team-a",
        group,
        cohortName="org",
        queueingStrategy="StrictFIFO",
        namespaceSelector=selector,
        flavorFungibility={"whenCanBorrow": "TryNextFlavor"},
        stopPolicy="Hold",
    )
    queue["metadata"] |= {"uid": "x", "resourceVersion": "7", "labels": {"a": "b"}, "finalizers": ["kueue"]}
    queue["status"] = {"pendingWorkloads": 3}
    ours = converted(queue)
    expected = cluster_queue(
        parent="org",
        flavors=group["flavors"],
        queueingStrategy="StrictFIFO",
        namespaceSelector=selector,
        flavorFungibility={"whenCanBorrow": "TryNextFlavor"},
        stopPolicy="Hold",
    )
    expected["metadata"]["labels"] = {"a": "b"}
    assert ours["ClusterQueue/team-a"] == expected
    assert ours["ClusterQueue/org"]["spec"] == {}


def test_what_is_at_its_default_is_left_out_without_a_word() -> None:
    queue = kueue_queue(
        "team-a",
        CPU,
        queueingStrategy="BestEffortFIFO",
        namespaceSelector={},
        flavorFungibility={"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
        preemption={
            "reclaimWithinCohort": "Never",
            "borrowWithinCohort": {"policy": "Never"},
            "withinClusterQueue": "Never",
        },
        stopPolicy="None",
        fairSharing={"weight": "1"},
        admissionScope={"admissionMode": "NoAdmissionFairSharing"},
    )
    done = convert(queue, kueue_flavor("spot"))
    _, ours = yaml.safe_load_all(done.stdout)
    assert ours["spec"] == {"flavors": CPU["flavors"], "namespaceSelector": {}}
    assert done.stderr.count("Warning: ") == 2  # the label and the room, which are always told


@pytest.mark.parametrize("selector", [None, {}])
def test_no_namespace_selector_and_an_empty_one_stay_apart(selector: Json | None) -> None:
    spec = specs(kueue_queue("a", CPU, namespaceSelector=selector))["ClusterQueue/a"]
    assert spec.get("namespaceSelector") == selector


@pytest.mark.parametrize(("version", "field"), [(V1, "cohort"), (V2, "cohortName")])
def test_both_versions_name_their_cohort(version: str, field: str) -> None:
    ours = specs(kueue_queue("a", CPU, version=version, **{field: "org"}))
    assert ours["ClusterQueue/a"]["parent"] == "org"


@pytest.mark.parametrize(
    ("written", "ours"),
    [("Borrow", None), ("MayStopSearch", None), ("TryNextFlavor", {"whenCanBorrow": "TryNextFlavor"})],
)
def test_the_older_names_of_flavor_fungibility_are_understood(written: str, ours: Json | None) -> None:
    queue = kueue_queue("a", CPU, version=V1, flavorFungibility={"whenCanBorrow": written})
    assert specs(queue)["ClusterQueue/a"].get("flavorFungibility") == ours


@pytest.mark.parametrize(("version", "written"), [(V1, "Preempt"), (V1, "MayStopSearch"), (V2, "MayStopSearch")])
def test_preempting_in_an_earlier_flavor_is_taken_over(version: str, written: str) -> None:
    for policy, ours in (("LowerPriority", {"whenCanPreempt": "MayStopSearch"}), ("Never", None)):
        queue = kueue_queue(
            "a",
            CPU,
            version=version,
            flavorFungibility={"whenCanPreempt": written},
            preemption={"withinClusterQueue": policy},
        )
        assert specs(queue)["ClusterQueue/a"].get("flavorFungibility") == ours


def test_preemption_is_taken_over_and_reclaiming_where_useful() -> None:
    written = {
        "withinClusterQueue": "LowerOrNewerEqualPriority",
        "reclaimWithinCohort": "LowerPriority",
        "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 9},
    }
    ours = specs(kueue_queue("a", CPU, cohortName="org", preemption=written), kueue_queue("b", CPU, preemption=written))
    assert ours["ClusterQueue/a"]["preemption"] == written
    assert ours["ClusterQueue/b"]["preemption"] == {"withinClusterQueue": "LowerOrNewerEqualPriority"}


def test_weights_are_taken_over_and_let_their_tree_share_fairly() -> None:
    ours = specs(
        kueue_cohort("left", parentName="org", fairSharing={"weight": 0.5}),
        kueue_queue("a", CPU, cohortName="left", fairSharing={"weight": "2"}),
        kueue_queue("b", CPU, cohortName="other"),
        kueue_queue("c", CPU),
        kueue_object("LocalQueue", "m", {"clusterQueue": "a", "fairSharing": {"weight": 3}}, namespace="n"),
    )
    weights = {name: spec.get("fairSharing") for name, spec in ours.items()}
    shared: Json = {"ClusterQueue/org": {}, "ClusterQueue/left": {"weight": "0.5"}, "ClusterQueue/a": {"weight": "2"}}
    shared["LocalQueue/m"] = {"weight": 3}
    assert {name: one for name, one in weights.items() if one is not None} == shared


def test_with_fair_sharing_configured_every_tree_shares() -> None:
    queues = kueue_queue("a", CPU, cohortName="org"), kueue_queue("b", CPU)
    ours = specs(*queues, options=("--fair-sharing",))
    assert ours["ClusterQueue/org"] == {"fairSharing": {}}
    assert "fairSharing" not in ours["ClusterQueue/a"]
    assert "fairSharing" not in ours["ClusterQueue/b"]


def test_cohorts_become_parents_before_what_is_below_them() -> None:
    ours = converted(
        kueue_queue("a", CPU, cohortName="left"),
        kueue_cohort("left", kueue_group(("spot", [kueue_quota("cpu", 4, borrow=1)])), parentName="org"),
        kueue_queue("b", CPU, cohortName="unwritten"),
    )
    assert list(ours) == _named("org", "unwritten", "left", "a", "b")
    assert list(converted(kueue_cohort("b", parentName="a"), kueue_cohort("a"))) == _named("a", "b")
    assert ours["ClusterQueue/left"]["spec"] == {
        "parent": "org",
        "flavors": [{"name": "spot", "resources": [kueue_quota("cpu", 4, borrow=1)]}],
    }


def _named(*names: str) -> list[str]:
    return [f"ClusterQueue/{name}" for name in names]


def test_a_cohort_named_like_a_queue_gets_a_suffix() -> None:
    documents = (
        kueue_queue("a", CPU, cohortName="a"),
        kueue_queue("a-cohort", CPU, cohortName="a"),
        kueue_cohort("b", parentName="a"),
        kueue_queue("b", CPU, cohortName="b"),
    )
    ours = specs(*documents)
    assert {name: spec.get("parent") for name, spec in ours.items()} == {
        "ClusterQueue/a-cohort-2": None,
        "ClusterQueue/a": "a-cohort-2",
        "ClusterQueue/a-cohort": "a-cohort-2",
        "ClusterQueue/b-cohort": "a-cohort-2",
        "ClusterQueue/b": "b-cohort",
    }
    told = convert(*documents).stderr
    assert "Warning: Cohort a: a ClusterQueue has that name too; becomes ClusterQueue a-cohort-2" in told
    assert "Warning: Cohort b: a ClusterQueue has that name too; becomes ClusterQueue b-cohort" in told


def test_the_suffix_makes_no_name_that_another_cohort_has() -> None:
    ours = specs(kueue_queue("a", CPU, cohortName="a"), kueue_cohort("a-cohort"))
    assert ours["ClusterQueue/a"]["parent"] == "a-cohort-2"


def test_local_queues_and_flavors_become_ours() -> None:
    toleration = {"key": "spot", "operator": "", "value": "x", "effect": "NoSchedule"}
    ours = converted(
        kueue_object("LocalQueue", "main", {"clusterQueue": "team-a", "stopPolicy": "Hold"}, namespace="default"),
        kueue_flavor("spot", nodeLabels={"pool": "spot"}, tolerations=[toleration]),
        kueue_object("ResourceFlavor", "unlabelled"),
    )
    assert ours["LocalQueue/main"] == local_queue(stopPolicy="Hold")
    assert ours["ResourceFlavor/unlabelled"] == resource_flavor("unlabelled")
    kept = {name: value for name, value in toleration.items() if name != "operator"}
    assert ours["ResourceFlavor/spot"] == resource_flavor(nodeLabels={"pool": "spot"}, tolerations=[kept])


def test_workload_priority_classes_become_ours() -> None:
    high = {**kueue_object("WorkloadPriorityClass", "high"), "value": 100, "description": "what customers wait for"}
    ours = converted(high, {**kueue_object("WorkloadPriorityClass", "idle", version=V1), "value": -1})
    assert ours["WorkloadPriorityClass/high"] == priority_class(value=100, description="what customers wait for")
    assert ours["WorkloadPriorityClass/idle"] == priority_class("idle", value=-1)


def test_static_capacity_is_what_all_queues_own_together() -> None:
    queues = (
        kueue_queue("a", kueue_group(("spot", [kueue_quota("cpu", "1500m"), kueue_quota("memory", "1Gi")]))),
        kueue_queue("b", kueue_group(("spot", [kueue_quota("cpu", 2)])), cohortName="org"),
        kueue_cohort("org", kueue_group(("spot", [kueue_quota("cpu", 1)]))),
    )
    ours = specs(*queues, kueue_flavor("spot"), options=("--capacity", "Static"))
    assert ours["ResourceFlavor/spot"] == {"capacity": {"mode": "Static", "static": {"cpu": "4500m", "memory": "1Gi"}}}


def test_static_capacity_beyond_all_numbers_is_the_largest() -> None:
    queues = [kueue_queue(name, kueue_group(("spot", [kueue_quota("gpu", 2**63 - 1)]))) for name in ("a", "b")]
    ours = specs(*queues, kueue_flavor("spot"), options=("--capacity", "Static"))
    assert ours["ResourceFlavor/spot"]["capacity"]["static"] == {"gpu": str(2**63 - 1)}


def test_the_help_has_an_example() -> None:
    shown = CliRunner().invoke(root, ["import", "kueue", "--help"]).output
    files = "-f queues.yaml -f flavors.yaml -f local-queues.yaml -f priorities.yaml"
    assert f"penstock import kueue {files} | kubectl apply -f -" in shown


def test_a_list_and_several_files_are_one_world(tmp_path: Path) -> None:
    (tmp_path / "1.yaml").write_text(yaml.safe_dump({"kind": "List", "items": [kueue_queue("a", CPU)]}))
    (tmp_path / "2.yaml").write_text(yaml.safe_dump(kueue_queue("b", CPU, cohortName="a")))
    files = [part for file in ("1.yaml", "2.yaml") for part in ("-f", str(tmp_path / file))]
    done = CliRunner().invoke(root, ["import", "kueue", *files])
    assert done.exit_code == 0, done.output
    assert {one["metadata"]["name"] for one in yaml.safe_load_all(done.stdout)} == {"a", "b", "a-cohort"}


def test_cohorts_and_topologies_of_v1alpha1_are_read() -> None:
    cohort = {**kueue_cohort("team", parent="org"), "apiVersion": "kueue.x-k8s.io/v1alpha1"}
    topology = {"apiVersion": "kueue.x-k8s.io/v1alpha1", "kind": "Topology", "metadata": {"name": "racks"}, "spec": {}}
    queue = kueue_queue("a", CPU, cohortName="team")
    ours = specs(queue, cohort, topology, kueue_flavor("spot"))
    assert (ours["ClusterQueue/a"]["parent"], ours["ClusterQueue/team"]["parent"]) == ("team", "org")


def test_objects_of_other_projects_are_left_out() -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
    done = convert(namespace, kueue_queue("a", CPU), kueue_flavor("spot"))
    assert done.exit_code == 0, done.output
    assert "Warning: <stdin>: document 1: Namespace is left out: nothing to convert\n" in done.stderr

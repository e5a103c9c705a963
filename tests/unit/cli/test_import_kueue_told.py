"""`penstock import kueue`: what is told of what has no counterpart, what it refuses, and what `--partial` lets pass."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from controller.cli.main import root
from tests.support.api_objects import Json
from tests.support.kueue_objects import (
    V1,
    kueue_cohort,
    kueue_flavor,
    kueue_group,
    kueue_object,
    kueue_queue,
    kueue_quota,
)
from tests.unit.cli.test_import_kueue import CPU, convert

TAINT = {"key": "spot", "value": "yes", "effect": "NoSchedule"}
STATIC = ("--capacity", "Static")


def a_queue(**spec: Any) -> Json:
    return kueue_queue("a", CPU, **spec)


@pytest.mark.parametrize(
    ("document", "told"),
    [
        (
            a_queue(preemption={"withinClusterQueue": "LowerPriority"}),
            "spec.preemption: preempts only pods whose owner recreates them without counting a failure",
        ),
        (a_queue(preemption={"reclaimWithinCohort": "Any"}), "spec.preemption: preempts only"),
        (
            a_queue(flavorFungibility={"preference": "PreemptionOverBorrowing"}),
            "spec.flavorFungibility.preference: is left out: a later flavor with quota and room",
        ),
        (a_queue(stopPolicy="HoldAndDrain"), "spec.stopPolicy: drains only pods whose owner recreates them"),
        (a_queue(fairSharing={"weight": 2}), "spec.fairSharing.weight: is left out: without a cohort"),
        (
            a_queue(admissionScope={"admissionMode": "UsageBasedAdmissionFairSharing"}),
            "spec.admissionScope.admissionMode: write fairSharing.usageHalfLife to the root",
        ),
        (
            a_queue(concurrentAdmissionPolicy={"migration": {"mode": "RetainFirstAdmission"}}),
            "spec.concurrentAdmissionPolicy: a pod takes the first flavor",
        ),
        (
            kueue_queue("a", kueue_group(("spot", [kueue_quota("gpu", "1500m")]))),
            "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: 1500m is no whole unit and is rounded down",
        ),
        (
            kueue_queue("a", kueue_group(("spot", [kueue_quota("cpu", 1, lend="1u")])), cohortName="o"),
            "spec.resourceGroups[0].flavors[0].resources[0].lendingLimit: 1u is no whole unit",
        ),
        (
            kueue_cohort("a", parentName="o", fairSharing={"weight": "0"}),
            "ClusterQueue o: spec.fairSharing: weights are set below it, so the tree shares fairly",
        ),
        (
            kueue_object("LocalQueue", "m", {"clusterQueue": "a", "stopPolicy": "HoldAndDrain"}, namespace="n"),
            "LocalQueue n/m: spec.stopPolicy: drains only",
        ),
        (
            kueue_object("LocalQueue", "default", {"clusterQueue": "a"}, namespace="n"),
            "LocalQueue n/default: metadata.name: pods that name no queue go to it only when the namespace says so",
        ),
        (kueue_flavor("f", nodeTaints=[TAINT]), "let every node of the flavor have spot=yes:NoSchedule"),
        (
            kueue_flavor("f", nodeTaints=[TAINT], tolerations=[{"key": "spot", "operator": "Exists"}]),
            "spec.nodeTaints[0]: spot=yes:NoSchedule keeps no pod out there",
        ),
        (
            kueue_flavor("f", nodeTaints=[{**TAINT, "effect": "PreferNoSchedule"}]),
            "spec.nodeTaints[0]: spot=yes:PreferNoSchedule keeps no pod out there",
        ),
        (
            {**kueue_object("WorkloadPriorityClass", "high", version=V1), "value": 100},
            "WorkloadPriorityClass high: value: pods name the class by the label penstock.dev/priority-class, instead "
            "of kueue.x-k8s.io/priority-class",
        ),
        (kueue_object("Workload", "w", {}), "Workload w: kind: is left out: there is no object for a pod"),
        (kueue_object("Topology", "t", {}), "Topology t: kind: is left out: a gang names the node label itself"),
        (
            kueue_flavor("f", nodeLabels={"a": "b"}, topologyName="rack"),
            "ResourceFlavor f: spec.topologyName: is left out: a gang names the node label itself, by",
        ),
    ],
)
def test_a_change_of_when_pods_are_admitted_is_only_told(document: Json, told: str) -> None:
    done = convert(document)
    assert done.exit_code == 0, done.output
    lines = [line for line in done.stderr.splitlines() if "among the files" not in line]
    assert [line for line in lines if told in line]
    assert len(lines) == 3  # the label and the room are always told
    assert all(line.startswith("Warning: ") for line in lines)


@pytest.mark.parametrize(
    ("options", "room"),
    [((), "here a pod is admitted only when a node of its flavor has room"), (STATIC, "raise it with their quotas")],
)
def test_the_label_and_the_room_of_flavors_are_always_told(options: tuple[str, ...], room: str) -> None:
    told = convert(a_queue(), options=options).stderr
    assert "Warning: pods name their queue by the label penstock.dev/queue-name" in told
    assert room in told


@pytest.mark.parametrize(
    ("document", "options", "told"),
    [
        (
            kueue_queue("a", CPU, version=V1, admissionChecks=["prov"]),
            (),
            "spec.admissionChecks[0]: there are no admission checks, so pods are admitted without waiting for prov",
        ),
        (
            a_queue(admissionChecksStrategy={"admissionChecks": [{"name": "prov", "onFlavors": ["spot"]}]}),
            (),
            "spec.admissionChecksStrategy.admissionChecks[0]: there are no admission checks",
        ),
        (
            kueue_flavor("f", nodeLabels={"a": "b"}, topologyName="rack"),
            STATIC,
            "ResourceFlavor f: spec.topologyName: with --capacity Static nodes are not considered",
        ),
        (kueue_flavor("f", nodeTaints=[TAINT]), STATIC, "spec.nodeTaints[0]: with --capacity Static nodes are not"),
    ],
)
def test_a_change_of_which_pods_are_admitted_needs_consent(document: Json, options: tuple[str, ...], told: str) -> None:
    refused = convert(document, options=options)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert told in refused.stderr.partition("Error: ")[2]
    assert refused.stderr.endswith("accept this by --partial\n")
    partial = convert(document, options=(*options, "--partial"))
    assert partial.exit_code == 0
    assert partial.stdout
    assert told in partial.stderr
    assert "Error" not in partial.stderr


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ("text", "must be an object, is text"),
        (
            {"kind": "Pod", "apiVersion": "kueue.x-k8s.io/v1"},
            "apiVersion: 'kueue.x-k8s.io/v1': must be kueue.x-k8s.io/v1beta1 or kueue.x-k8s.io/v1bet",
        ),
        (kueue_object("ClusterQueue", "b", {}, version="kueue.x-k8s.io/v1alpha1"), "v1alpha1': must be kueue.x-k8s.io"),
        ({"kind": "ClusterQueue"}, "apiVersion: is required: kueue.x-k8s.io/v1beta1 or kueue.x-k8s.io/v1beta2"),
        ({"apiVersion": V1}, "kind: is required: one of ClusterQueue, Cohort, LocalQueue"),
        (kueue_object("Queue", "b", {}), "kind: 'Queue': must be one of ClusterQueue, Cohort, LocalQueue"),
        ({**kueue_object("Queue", "b"), "kind": []}, "kind: []: must be one of"),
        ({**kueue_queue("b"), "metadata": None}, "ClusterQueue (no name): metadata: is required"),
        (kueue_queue("b", cohort="x"), 'spec.cohort: "x": is not a field that Penstock knows'),
        (kueue_queue("b", version=V1, cohortName="x"), 'spec.cohortName: "x": is not a field'),
        (kueue_object("LocalQueue", "b", {}), "LocalQueue b: spec.clusterQueue: is required"),
        (kueue_object("WorkloadPriorityClass", "b"), "WorkloadPriorityClass b: value: is required"),
        (
            kueue_queue("b", kueue_group(("x", [kueue_quota("cpu", "8Q")]))),
            'resources[0].nominalQuota: "8Q": must be a',
        ),
        (
            kueue_queue("b", {**CPU, "coveredResources": ["gpu"]}),
            'resources: ["cpu"]: must name each of coveredResources',
        ),
        (
            kueue_queue("b", kueue_group(("x", [kueue_quota("cpu", 1, lend=1)]))),
            "ClusterQueue b: cannot be a ClusterQueue of ours: spec.flavors[0].resources[0].lendingLimit: 1: goes only",
        ),
        (kueue_object("ClusterQueue", "b" * 64, {}), 'metadata.name: "bbb'),
        (a_queue(), "ClusterQueue a: metadata.name: there is another at <stdin>: document 1; leave one out"),
    ],
)
def test_a_fault_is_told_with_its_place_and_nothing_is_written(document: Any, told: str) -> None:
    for options in ((), ("--partial",)):
        done = convert(a_queue(), document, options=options)
        assert (done.exit_code, done.stdout) == (1, "")
        assert done.stderr.startswith("Error: <stdin>: document 2: ")
        assert told in done.stderr


def test_faults_of_all_objects_are_told_together() -> None:
    done = convert("text", kueue_object("LocalQueue", "b", {}))
    assert done.stderr.splitlines() == [
        "Error: <stdin>: document 1: must be an object, is text",
        "<stdin>: document 2: LocalQueue b: spec.clusterQueue: is required",
    ]


def test_a_topology_tells_the_annotations_of_slices_too() -> None:
    told = convert(kueue_flavor("f", nodeLabels={"a": "b"}, topologyName="rack")).stderr
    assert "in slices by penstock.dev/slice-required-topology and penstock.dev/slice-size, instead of podset-sl" in told


@pytest.mark.parametrize(
    ("document", "told"),
    [
        (kueue_queue("b", version=V1, cohort=5), "ClusterQueue b: spec.cohort: 5: must be text"),
        (
            kueue_queue("b", kueue_group(("x", [kueue_quota("cpu", -5)]))),
            "ClusterQueue b: spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: -5: must not be negative",
        ),
        (kueue_queue("b", fairSharing={"weight": []}), "ClusterQueue b: spec.fairSharing.weight: []: must be a number"),
        (kueue_flavor("b", nodeLabels={"-": "c"}), "ResourceFlavor b: spec.nodeLabels[-]: "),
    ],
)
def test_a_fault_is_one_line_in_words_of_those_who_wrote_it(document: Json, told: str) -> None:
    (line,) = convert(document).stderr.splitlines()
    assert line.startswith(f"Error: <stdin>: document 1: {told}")
    assert "[[" not in line


def test_all_that_breaks_our_rules_is_told_together() -> None:
    names = ["x" * 64, "y" * 64]
    named = kueue_queue("q", kueue_group(("z" * 64, [kueue_quota("cpu", 1)])))
    done = convert(*(kueue_object("ClusterQueue", name, {}) for name in names), named, kueue_flavor("z" * 64))
    assert done.exit_code == 1
    # that of the flavor is told of the queue that names it too
    assert [line.count("metadata.name") for line in done.stderr.splitlines()] == [1, 1, 0, 1]


def test_one_name_in_two_namespaces_or_kinds_is_no_duplicate() -> None:
    doors = [kueue_object("LocalQueue", "a", {"clusterQueue": "a"}, namespace=name) for name in ("x", "y")]
    assert convert(a_queue(), kueue_flavor("a"), *doors).exit_code == 0


def test_a_circle_of_cohorts_is_a_fault() -> None:
    cohorts = [kueue_cohort(name, parentName=parent) for name, parent in (("a", "b"), ("b", "a"), ("below", "a"))]
    done = convert(kueue_queue("q", CPU, cohortName="below"), *cohorts)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        "Error: <stdin>: document 2: Cohort a: spec.parentName: a → b → a is a circle; make one of them a root",
        "<stdin>: document 3: Cohort b: spec.parentName: b → a → b is a circle; make one of them a root",
    ]


@pytest.mark.parametrize("content", ["", "---\n"])
def test_a_file_without_objects_is_told_by_its_name(tmp_path: Path, content: str) -> None:
    file, other = tmp_path / "empty.yaml", tmp_path / "queue.yaml"
    file.write_text(content)
    other.write_text(yaml.safe_dump(a_queue()))
    done = CliRunner().invoke(root, ["import", "kueue", "-f", str(other), "-f", str(file)])
    assert (done.exit_code, done.stdout, done.stderr) == (1, "", f"Error: {file}: holds no object\n")


NONE_OF_A_KIND = "apiVersion: v1\nitems: []\nkind: List\nmetadata:\n  resourceVersion: ''\n"
"""What kubectl prints where a kind has no objects."""


def test_a_kind_without_objects_is_no_fault_beside_others(tmp_path: Path) -> None:
    queues, priorities = tmp_path / "queues.yaml", tmp_path / "priorities.yaml"
    priorities.write_text(NONE_OF_A_KIND)
    queues.write_text(yaml.safe_dump_all([a_queue(), kueue_flavor("spot")]))
    done = CliRunner().invoke(root, ["import", "kueue", "-f", str(queues), "-f", str(priorities)])
    assert (done.exit_code, [one["kind"] for one in yaml.safe_load_all(done.stdout)]) == (
        0,
        ["ResourceFlavor", "ClusterQueue"],
    )


def test_files_that_hold_nothing_all_together_are_a_fault(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("queues.yaml", "flavors.yaml")]
    for file in files:
        file.write_text(NONE_OF_A_KIND)
    both = CliRunner().invoke(root, ["import", "kueue", "-f", str(files[0]), "-f", str(files[1])])
    assert (both.exit_code, both.stderr) == (1, f"Error: {files[0]}, {files[1]}: hold no object\n")
    one = CliRunner().invoke(root, ["import", "kueue", "-f", str(files[0])])
    assert (one.exit_code, one.stderr) == (1, f"Error: {files[0]}: holds no object\n")


def test_a_file_that_is_not_yaml_is_told_by_its_name(tmp_path: Path) -> None:
    file = tmp_path / "queues.yaml"
    file.write_text("a: [")
    done = CliRunner().invoke(root, ["import", "kueue", "-f", str(file)])
    assert done.exit_code == 1
    assert done.stderr.startswith(f"Error: {file}: not YAML: ")


WHOLE = [
    kueue_queue(
        "a",
        CPU,
        kueue_group(("f", [kueue_quota("pods", 1, borrow=1, lend=1)])),
        version=V1,
        cohort="c",
        admissionChecks=["x"],
        namespaceSelector={"matchLabels": {"a": "b"}},
        preemption={"borrowWithinCohort": {"policy": "LowerPriority"}},
        flavorFungibility={"whenCanBorrow": "Borrow"},
        fairSharing={"weight": 2},
    ),
    kueue_cohort("c", CPU, parentName="d"),
    kueue_flavor("f", nodeLabels={"a": "b"}, nodeTaints=[TAINT], tolerations=[{"key": "k"}], topologyName="t"),
    kueue_object("LocalQueue", "m", {"clusterQueue": "a", "stopPolicy": "Hold"}, namespace="n"),
    {**kueue_object("WorkloadPriorityClass", "high"), "value": 1},
]


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, one in inner:
        yield from places(one, (*path, step))


@pytest.mark.parametrize("odd", [None, 3, 1.5, True, "", "ä", [], [[]], {}, {"a": {}}], ids=repr)
def test_anything_odd_ends_in_lines_for_people(odd: Any) -> None:
    for path in places(WHOLE):
        documents = deepcopy(WHOLE)
        holder: Any = documents
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = odd
        done = convert(*documents, options=("--partial",))
        assert done.exception is None or isinstance(done.exception, SystemExit), (path, done.exception)
        assert done.stderr.startswith(("Warning: ", "Error: ")), path

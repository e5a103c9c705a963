"""What an object of a WorkloadKind says, by the paths of its kind."""

from __future__ import annotations

from typing import Any

import pytest

from controller.api.parse import parse_workload_kind
from controller.core.workload_kinds.reading import UnreadablePodSets, has_ended, is_suspended, pod_sets_of
from controller.kube.manifests import load_documents
from controller.objects.workload_kinds import to_workload_kind
from controller.sandbox.shipped import manifests
from tests.support.train_documents import TRAIN, a_group, a_template, a_train


def counts(document: dict[str, Any]) -> dict[str, int]:
    return {one.name: one.count for one in pod_sets_of(TRAIN, document)}


def test_pod_sets_are_where_the_paths_lead() -> None:
    train = a_train(a_group(replicas=2, hosts=3), cars={"b~/": {"template": a_template()}})
    assert counts(train) == {"head": 1, "big": 6, "b~/": 1}
    assert [one.pointer for one in pod_sets_of(TRAIN, train)] == [
        "/spec/head/template",
        "/spec/groups/0/template",
        "/spec/cars/b~0~1/template",
    ]


def test_pod_sets_without_pods_are_left_out() -> None:
    assert counts(a_train(a_group(replicas=0), a_group("small", 1))) == {"head": 1, "small": 1}
    without_head = a_train(a_group())
    del without_head["spec"]["head"]
    assert counts(without_head) == {"big": 2}


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"groups": "many"}, "spec.groups: is neither a list nor a map"),
        ({"groups": [a_group(name="")]}, "spec.groups.0.name: is no name"),
        ({"groups": [a_group(replicas="2")]}, "spec.groups.0.replicas: is '2'; write how many"),
        ({"groups": [a_group(replicas=-1)]}, "spec.groups.0.replicas: is '-1'"),
        ({"groups": [a_group(replicas=True)]}, "spec.groups.0.replicas: is 'True'"),
        ({"groups": [{"name": "a"}]}, "spec.groups.0.template: is no pod template"),
        ({"groups": [a_group(), a_group()]}, "several pod sets of the name 'big'"),
        ({"groups": [a_group(f"g{number}") for number in range(65)]}, "has 66 pod sets"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(spec: dict[str, Any], told: str) -> None:
    with pytest.raises(UnreadablePodSets, match=told.replace("(", r"\(")):
        pod_sets_of(TRAIN, a_train(**spec))


@pytest.mark.parametrize(
    ("status", "ended"),
    [
        ({}, False),
        ({"conditions": [{"type": "Complete", "status": "True"}]}, True),
        ({"conditions": [{"type": "Complete", "status": "False"}]}, False),
        ({"conditions": "odd"}, False),
        ({"phase": "Failed"}, True),
        ({"phase": "Running"}, False),
    ],
)
def test_an_object_ends_as_its_kind_says(status: dict[str, Any], ended: bool) -> None:
    assert has_ended(TRAIN, a_train(status=status)) is ended


def test_only_true_suspends() -> None:
    assert is_suspended(TRAIN, a_train())
    assert not is_suspended(TRAIN, a_train(policy={}))
    assert not is_suspended(TRAIN, a_train(policy={"suspend": "true"}))
    assert not is_suspended(TRAIN, a_train(policy=None))


@pytest.mark.parametrize(
    ("name", "spec", "found"),
    [
        (
            "jobsets.jobset.x-k8s.io",
            {
                "suspend": True,
                "replicatedJobs": [
                    {"name": "driver", "template": {"spec": {"template": a_template()}}},
                    {
                        "name": "workers",
                        "replicas": 4,
                        "template": {"spec": {"parallelism": 8, "completions": 8, "template": a_template()}},
                    },
                ],
            },
            {"driver": 1, "workers": 32},
        ),
        (
            "mpijobs.v2beta1.kubeflow.org",
            {
                "runPolicy": {"suspend": True},
                "mpiReplicaSpecs": {
                    "Launcher": {"replicas": 1, "template": a_template()},
                    "Worker": {"replicas": 3, "template": a_template()},
                },
            },
            {"Launcher": 1, "Worker": 3},
        ),
    ],
)
def test_pods_of_kinds_that_make_jobs_are_counted(name: str, spec: dict[str, Any], found: dict[str, int]) -> None:
    (document,) = load_documents(manifests("kinds") / f"{name}.yaml")
    kind = to_workload_kind(parse_workload_kind(document))
    assert is_suspended(kind, {"spec": spec})
    assert {one.name: one.count for one in pod_sets_of(kind, {"spec": spec})} == found

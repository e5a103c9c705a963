"""Which fields Kubernetes knows, and of which type each is."""

from __future__ import annotations

import re
from typing import Any

import pytest

from controller.kube import fields
from controller.kube.fields import faults, member
from tests.support.pod_documents import a_pod_document

KINDS = ("V1Pod", "V1Namespace", "V1RuntimeClass", "V1PriorityClass", "V1ReplicationController", "V1ReplicaSet")
WORKLOADS = ("V1Deployment", "V1StatefulSet", "V1DaemonSet", "V1Job", "V1CronJob")


def test_a_pod_as_the_apiserver_writes_it_has_no_fault() -> None:
    assert faults(a_pod_document(requests={"cpu": 1, "memory": "1Gi"}), "V1Pod") == []


@pytest.mark.parametrize("kind", [*KINDS, *WORKLOADS])
def test_every_type_within_a_kind_is_understood(kind: str) -> None:
    seen: set[str] = set()

    def walk(one: str) -> None:
        inner = re.fullmatch(r"(?:list\[|dict\(str, )(.+)[\])]", one)
        if inner:
            walk(inner[1])
        elif one not in seen and one not in fields.PLAIN_TYPES and one != "object":
            seen.add(one)
            for of_type in fields.fields_of(one).values():
                walk(of_type)

    walk(kind)
    assert "V1ObjectMeta" in seen


@pytest.mark.parametrize(
    ("document", "lines"),
    [
        ([], ["pod: []: must be an object"]),
        ({"spec": None, "metadata": {}}, []),
        (
            {"spec": {"Tolerations": []}},
            ["pod.spec.Tolerations: is not a field that Kubernetes knows; did you mean tolerations?"],
        ),
        ({"spec": {3: 1}}, ["pod.spec[3]: is not a field that Kubernetes knows; remove it or correct its spelling"]),
        ({"spec": {"tolerations": {}}}, ["pod.spec.tolerations: {}: must be a list"]),
        ({"spec": {"tolerations": [3]}}, ["pod.spec.tolerations[0]: 3: must be an object"]),
        (
            {"spec": {"tolerations": [{"tolerationSeconds": True}]}},
            ["pod.spec.tolerations[0].tolerationSeconds: true: must be a whole number"],
        ),
        ({"spec": {"hostNetwork": "yes"}}, ['pod.spec.hostNetwork: "yes": must be true or false']),
        ({"spec": {"nodeName": 5}}, ["pod.spec.nodeName: 5: must be text; put it in quotes"]),
        (
            {"metadata": {"labels": {"a": True, 1: "x"}}},
            [
                "pod.metadata.labels[a]: true: must be text; put it in quotes",
                "pod.metadata.labels[1]: 1: the key must be text; put it in quotes",
            ],
        ),
        ({"spec": {"containers": [{"resources": {"limits": {"cpu": 0.5}}}]}}, []),
        (
            {"spec": {"containers": [{"resources": {"limits": {"cpu": False}}}]}},
            ["pod.spec.containers[0].resources.limits[cpu]: false: must be text; put it in quotes"],
        ),
        ({"spec": {"containers": [{"livenessProbe": {"httpGet": {"port": 80}}}]}}, []),
        ({"spec": {"nodeSelector": ["x" * 80]}}, [f'pod.spec.nodeSelector: ["{"x" * 58}…: must be an object']),
    ],
)
def test_faults_have_path_value_and_what_would_be_legal(document: Any, lines: list[str]) -> None:
    assert faults(document, "V1Pod", "pod") == lines


def test_keys_of_maps_stand_in_brackets() -> None:
    assert member("spec.nodeSelector", "pool") == "spec.nodeSelector[pool]"
    assert member("metadata", "name") == "metadata.name"
    assert member("data", "a/b.c") == "data[a/b.c]"
    assert member("", "spec") == "spec"

"""docs/workload-kinds.md shows objects whose pods Penstock counts as the page says, and the kinds that there are."""

from __future__ import annotations

import re

import pytest
import yaml

from controller.api.parse import parse_workload_kind
from controller.cli.main import run
from controller.core.keys import QUEUE_NAME
from controller.core.workload_kinds.reading import pod_sets_of
from controller.kube.manifests import load_documents
from controller.objects.workload_kinds import to_workload_kind
from controller.sandbox.shipped import manifests
from tests.support.shown import page

TEXT = page("workload-kinds.md")
SHOWN = {one["kind"]: one for one in map(yaml.safe_load, re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL))}


@pytest.mark.parametrize(
    ("kind", "file", "pods"),
    [
        ("RayJob", "rayjobs.ray.io", {"head": 1, "gpu": 4}),
        ("JobSet", "jobsets.jobset.x-k8s.io", {"driver": 1, "workers": 32}),
    ],
)
def test_pods_of_the_objects_shown_are_counted(kind: str, file: str, pods: dict[str, int]) -> None:
    (document,) = load_documents(manifests("kinds") / f"{file}.yaml")
    known, shown = to_workload_kind(parse_workload_kind(document)), SHOWN[kind]
    assert (shown["apiVersion"], shown["metadata"]["labels"]) == (known.api_version, {QUEUE_NAME: "main"})
    assert {one.name: one.count for one in pod_sets_of(known, shown)} == pods


def test_the_kind_of_ones_own_is_legal() -> None:
    assert to_workload_kind(parse_workload_kind(SHOWN["WorkloadKind"])).name == "trains.sample.example.com"


def test_the_page_lists_the_kinds_that_come_with_penstock(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["kinds", "list"]) == 0
    assert f"$ penstock kinds list\n{capsys.readouterr().out}```" in TEXT

"""Our objects in the documents are legal, and what is said to become of another's is what our command makes of it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from controller.api.crd import KINDS
from controller.cli.imports.kueue_conversion import convert as convert_all
from controller.cli.imports.kueue_documents import read
from controller.cli.imports.kueue_report import Report
from controller.cli.imports.kupid import convert
from controller.core.keys import GROUP, VERSION
from tests.support.api_objects import Json

DOCS = Path(__file__).resolve().parents[3] / "docs"
_BLOCK = re.compile(r"^( *)```yaml\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
MODELS = {kind.definition.kind: kind for kind in KINDS}


def objects(file: Path) -> Iterator[Json]:
    """Whole objects in the YAML of a document; parts of objects are left out."""
    for _, block in _BLOCK.findall(file.read_text(encoding="utf-8")):
        for document in yaml.safe_load_all(textwrap.dedent(block)):
            if isinstance(document, dict) and "kind" in document:
                yield document


OURS = [
    pytest.param(one, id=f"{file.name}-{one['kind']}-{one['metadata']['name']}")
    for file in sorted(DOCS.rglob("*.md"))
    for one in objects(file)
    if one["apiVersion"] == f"{GROUP}/{VERSION}" and one["kind"] in MODELS
]


@pytest.mark.parametrize("written", OURS)
def test_an_object_in_a_document_is_legal(written: Json) -> None:
    parsed = MODELS[written["kind"]].model_validate(written, by_alias=True, by_name=False)
    assert parsed.metadata.name == written["metadata"]["name"]


def test_the_documents_name_the_kinds_that_others_become() -> None:
    kinds = {one["kind"] for one in objects(DOCS / "moving-over.md") if one["apiVersion"].startswith(GROUP)}
    policies = {"ClusterPodSchedulingPolicy", "PodSchedulingPolicy", "SchedulingPolicy"}
    assert kinds == {"ClusterQueue", "LocalQueue", "ResourceFlavor", "WorkloadPriorityClass", *policies}
    assert len(OURS) > len(kinds)


def test_an_object_of_kupid_becomes_what_the_document_says() -> None:
    found = list(objects(DOCS / "moving-over.md"))
    of_kupid = next(one for one in found if one["apiVersion"].startswith("kupid."))
    ours = found[found.index(of_kupid) + 1]
    assert convert("document", of_kupid, target="Pods") == ours


def test_objects_of_kueue_become_what_the_document_says() -> None:
    found = list(objects(DOCS / "moving-over.md"))
    of_kueue = [read("document", one) for one in found if one["apiVersion"].startswith("kueue.")]
    report = Report()
    ours = convert_all(of_kueue, "Nodes", report)
    assert ours == found[len(of_kueue) : len(of_kueue) + len(ours)]
    assert (len(ours), report.losses) == (5, [])

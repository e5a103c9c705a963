"""What the forge reads: its workflow runs what CI runs, on each Python and Kubernetes version that is supported."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.sandbox.versions import VERSIONS

ROOT = Path(__file__).parents[3]
FORGE = ROOT / ".github"


def test_the_workflow_runs_ci_on_every_python_and_kubernetes() -> None:
    jobs: dict[str, Any] = yaml.safe_load((FORGE / "workflows" / "test.yml").read_text())["jobs"]
    matrix = jobs["test"]["strategy"]["matrix"]
    classifiers = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    assert matrix["python"] == classifiers
    assert {*matrix["kubernetes"], *(one["kubernetes"] for one in matrix["include"])} == set(VERSIONS)
    assert [step["run"] for step in jobs["test"]["steps"] if "run" in step] == [".ci/run"]


def test_owners_are_of_folders_that_exist() -> None:
    paths = [line.split()[0] for line in (FORGE / "CODEOWNERS").read_text().splitlines() if line.startswith("/")]
    assert paths
    assert [path for path in paths if not (ROOT / path.strip("/")).is_dir()] == []


@pytest.mark.parametrize("form", sorted((FORGE / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.stem)
def test_each_form_can_be_filled_in(form: Path) -> None:
    document = yaml.safe_load(form.read_text())
    if form.stem == "config":
        assert document["contact_links"]
        return
    assert {"name", "description", "body"} <= set(document)
    assert all(part["attributes"]["label"] for part in document["body"])
    assert len({part["id"] for part in document["body"]}) == len(document["body"])

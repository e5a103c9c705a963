"""`-f DIR`: the YAML and JSON files of a folder by name, for each command that takes `-f FILE`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from controller.cli.main import root
from tests.support.api_objects import Json
from tests.support.builders import a_node
from tests.support.kueue_objects import kueue_flavor
from tests.support.simulated_worlds import a_world
from tests.support.snapshot_files import a_file


def a_job(name: str, queue: str = "main") -> Json:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    template = {"metadata": {"labels": {"penstock.dev/queue-name": queue}}, "spec": {"containers": [container]}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"template": template}}


def of_kupid(name: str) -> Json:
    metadata = {"name": name, "namespace": "shoot"}
    body = {"metadata": metadata, "spec": {"podSelector": {}}}
    return {"apiVersion": "kupid.gardener.cloud/v1alpha1", "kind": "PodSchedulingPolicy", **body}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "given"
    made.mkdir()
    (made / "notes.txt").write_text("no: manifest")
    (made / "below").mkdir()
    (made / "below" / "c.yaml").write_text("no object")
    return made


def given(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(root, [*arguments, "-f", str(folder)], catch_exceptions=False)


def test_simulate_adds_the_jobs_of_a_folder(folder: Path, tmp_path: Path) -> None:
    (folder / "b.json").write_text(json.dumps(a_job("one")))
    (folder / "a.yml").write_text(yaml.safe_dump_all([a_job("two"), a_job("three")]))
    file = a_file(tmp_path, a_world(nodes=[a_node(cpu="8")]))
    done = given(folder, "simulate", file, "--runs", "1", "--hours", "1")
    assert done.exit_code == 0, done.output
    told = [line.split(":")[0] for line in done.stdout.splitlines() if line.startswith("Job ")]
    assert told == ["Job default/two", "Job default/three", "Job default/one"]


def test_imports_convert_all_files_of_a_folder(folder: Path) -> None:
    (folder / "b.yaml").write_text(yaml.safe_dump(of_kupid("first")))
    (folder / "a.json").write_text(json.dumps(of_kupid("second")))
    done = given(folder, "import", "kupid")
    assert [one["metadata"]["name"] for one in yaml.safe_load_all(done.stdout)] == ["second", "first"]


def test_kueue_takes_a_folder_for_one_world(folder: Path) -> None:
    for name in ("spot", "steady"):
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(kueue_flavor(name, nodeLabels={"pool": name})))
    done = given(folder, "import", "kueue")
    assert [one["metadata"]["name"] for one in yaml.safe_load_all(done.stdout)] == ["spot", "steady"]


def test_explain_takes_pods_of_a_folder(folder: Path, tmp_path: Path) -> None:
    (folder / "jobs.yaml").write_text(yaml.safe_dump_all([a_job("one"), a_job("two")]))
    objects = tmp_path / "objects.yaml"
    objects.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}))
    done = given(folder, "policy", "explain", "--objects", str(objects), "-n", "default", "-o", "json")
    assert [one["madeBy"] for one in json.loads(done.stdout)["pods"]] == ["Job 'one'", "Job 'two'"]


def test_a_folder_without_manifests_is_refused(folder: Path) -> None:
    done = given(folder, "import", "kupid")
    assert done.exit_code == 2
    assert f"{folder}: holds no .yaml, .yml, .json file" in done.stderr


@pytest.mark.parametrize(
    ("second", "fault"),
    [
        ({"apiVersion": "v1", "kind": "Pod"}, "is a Pod; write a Job of batch/v1"),
        (a_job("one", queue=""), "names no queue: write the label"),
        (a_job("one"), "Job default/one is there already: give it another name"),
        ("text", "must be an object, is text"),
    ],
)
def test_a_fault_is_told_with_file_and_document(second: object, fault: str, folder: Path, tmp_path: Path) -> None:
    (folder / "a.yaml").write_text(yaml.safe_dump_all([a_job("one"), second]))
    done = given(folder, "simulate", a_file(tmp_path, a_world()))
    assert done.exit_code == 1
    assert f"Error: {folder}{os.sep}a.yaml: document 2: {fault}" in done.stderr


def test_a_file_of_comments_adds_no_job(folder: Path, tmp_path: Path) -> None:
    (folder / "a.yaml").write_text("# nothing\n")
    done = given(folder, "simulate", a_file(tmp_path, a_world()))
    assert (done.exit_code, done.stderr) == (1, f"Error: {folder}{os.sep}a.yaml: holds no object\n")

"""docs/clients.md shows what the samples of clients come from, and names all of them."""

from __future__ import annotations

import ast
import re
from typing import Any

import yaml

from controller.core.keys import CONDITION, POD_GROUP_SIZE, QUEUE_NAME
from controller.kube.manifests import load_documents
from tests.support.documented import ROOT
from tests.support.shown import page

TEXT = page("clients.md")
CLIENTS = ROOT / "config" / "samples" / "clients"
SHOWN = {one["kind"]: one for one in map(yaml.safe_load, re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL))}
LABEL = {QUEUE_NAME: "main"}


def sample(name: str) -> list[dict[str, Any]]:
    return load_documents(CLIENTS / name)


def container(pod: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in pod["containers"] if one["name"] == name)


def test_every_sample_is_named() -> None:
    assert all(f"(../config/samples/clients/{file.name})" in TEXT for file in CLIENTS.iterdir())


def test_the_workflow_is_that_of_the_sample() -> None:
    (pod,) = sample("argo_pod.yaml")
    spec = SHOWN["Workflow"]["spec"]
    assert spec["podMetadata"]["labels"] == LABEL
    assert LABEL.items() <= pod["metadata"]["labels"].items()
    written, made = spec["templates"][0]["container"], container(pod["spec"], "main")
    begin = made["command"].index("--") + 1
    assert (made["command"][begin:], made["args"]) == (written["command"], written["args"])
    assert (made["image"], made["resources"]) == (written["image"], written["resources"])


def test_the_operator_of_airflow_is_that_of_the_sample() -> None:
    (pod,) = sample("airflow_pod.yaml")
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    call = ast.parse(code, mode="eval").body
    assert isinstance(call, ast.Call)
    given = {one.arg: one.value for one in call.keywords}
    resources = given.pop("container_resources")
    assert isinstance(resources, ast.Call)
    made = container(pod["spec"], "base")
    literal = {name: ast.literal_eval(value) for name, value in given.items()}
    assert literal["labels"] == LABEL
    assert LABEL.items() <= pod["metadata"]["labels"].items()
    assert (literal["cmds"], literal["arguments"], literal["image"]) == (made["command"], made["args"], made["image"])
    assert ast.literal_eval(resources.keywords[0].value) == made["resources"]["requests"]


def test_the_dask_cluster_is_that_of_the_sample() -> None:
    spec = SHOWN["DaskCluster"]["spec"]
    scheduler, service, *workers = sample("dask_cluster.yaml")
    assert (len(workers), spec["worker"]["metadata"]["labels"]) == (spec["worker"]["replicas"], LABEL)
    assert scheduler["spec"]["template"]["spec"] == spec["scheduler"]["spec"]
    assert QUEUE_NAME not in scheduler["spec"]["template"]["metadata"]["labels"]
    assert service["spec"] == spec["scheduler"]["service"]
    for one in workers:
        template = one["spec"]["template"]
        assert LABEL.items() <= template["metadata"]["labels"].items()
        made = dict(container(template["spec"], "worker"))
        assert {entry["name"] for entry in made.pop("env")} == {"DASK_WORKER_NAME", "DASK_SCHEDULER_ADDRESS"}
        assert made == spec["worker"]["spec"]["containers"][0]


def test_the_program_reads_the_condition_that_there_is() -> None:
    program = (CLIENTS / "submit_job.py").read_text(encoding="utf-8")
    assert f'"{CONDITION}"' in program
    assert f'"{QUEUE_NAME}"' in program


def test_the_leader_worker_set_is_that_of_the_sample() -> None:
    spec = SHOWN["LeaderWorkerSet"]["spec"]
    size, template = spec["leaderWorkerTemplate"]["size"], spec["leaderWorkerTemplate"]["workerTemplate"]
    assert template["metadata"]["annotations"][POD_GROUP_SIZE] == str(size * spec["replicas"])
    leaders, workers = sample("leader_worker_set.yaml")
    assert (leaders["spec"]["replicas"], workers["spec"]["replicas"]) == (spec["replicas"], size - 1)
    for made in (leaders["spec"]["template"], workers["spec"]["template"]):
        for part in ("labels", "annotations"):
            assert template["metadata"][part].items() <= made["metadata"][part].items()
        assert made["spec"] == template["spec"]

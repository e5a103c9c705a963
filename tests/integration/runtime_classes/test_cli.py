"""`penstock runtimeclass nodes` against a real apiserver."""

from __future__ import annotations

import asyncio
from pathlib import Path

import orjson
import pytest

from controller.kube.client import MERGE_PATCH
from controller.sandbox import Sandbox
from tests.integration.runtime_classes.conftest import STANDARD, Corner
from tests.support.sandbox import Answer, CommandLine
from tests.support.team import TEAM_LABEL

pytestmark = pytest.mark.integration


async def nodes_of(classy: Sandbox, state: Path, *arguments: str) -> Answer:
    line = CommandLine(state)
    return await asyncio.to_thread(
        line.run, "runtimeclass", "nodes", *arguments, "--kubeconfig", str(classy.kubeconfig)
    )


async def test_every_node_is_listed_with_why_not(corner: Corner, classy: Sandbox, tmp_path: Path) -> None:
    await corner.nodes("good", labels={"runtime": "kata"}, taints=("sandboxed=yes:NoSchedule",))
    await corner.nodes("cordoned", labels={"runtime": "kata"})
    await corner.nodes("other", labels={"runtime": "runc"})
    await corner.nodes("bare", taints=("spot:NoSchedule",))
    path = f"/api/v1/nodes/{corner.full('cordoned')}-0"
    await corner.client.patch(path, {"spec": {"unschedulable": True}}, content_type=MERGE_PATCH)
    rules = {
        "nodeSelector": {"runtime": "kata", TEAM_LABEL: corner.id},
        "tolerations": [{"key": "sandboxed", "operator": "Exists"}],
    }
    name = await corner.runtime_class("kata", scheduling=rules)

    answer = await nodes_of(classy, tmp_path, name, "-o", "json")
    assert answer.code == 0, answer.err
    document = orjson.loads(answer.out)
    assert (document["runtimeClass"], document["handler"]) == (name, "handler")
    mine = {node["name"]: node for node in document["nodes"] if node["name"].startswith(corner.id)}
    assert {node.split("-")[1]: found["matches"] for node, found in mine.items()} == {
        "good": True,
        "cordoned": True,
        "other": False,
        "bare": False,
    }
    assert mine[f"{corner.full('cordoned')}-0"]["cordoned"] is True
    assert mine[f"{corner.full('bare')}-0"]["reasons"] == [
        {"reason": "LabelMissing", "message": "label runtime is missing, the class wants 'kata'"},
        {"reason": "TaintNotTolerated", "message": "taint spot:NoSchedule is not tolerated by the class"},
    ]

    table = await nodes_of(classy, tmp_path, name)
    assert table.code == 0
    assert "label runtime is 'runc', the class wants 'kata'" in table.out
    assert "cordoned: takes no new pods for now" in table.out
    assert f"RuntimeClass {name} (handler handler): 2 of " in table.out


async def test_a_class_that_does_not_exist_names_those_that_do(classy: Sandbox, tmp_path: Path) -> None:
    for name in ("absent", "../nodes"):
        answer = await nodes_of(classy, tmp_path, name)
        assert (answer.code, answer.out) == (1, "")
        assert answer.err.startswith(f"Error: RuntimeClass '{name}' does not exist; there are ")
        assert STANDARD in answer.err

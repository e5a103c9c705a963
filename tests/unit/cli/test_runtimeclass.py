"""The command line of `penstock runtimeclass`, without a cluster."""

from __future__ import annotations

from pathlib import Path

import click
import orjson
import pytest

from controller.cli import runtimeclass
from controller.cli.main import run
from controller.core.kubernetes.class_nodes import judge
from controller.core.kubernetes.nodes import Node
from controller.core.kubernetes.runtime_classes import RuntimeClass
from controller.kube.errors import NotFound
from controller.kube.listing import list_all
from tests.support.classes import a_class
from tests.support.fake_client import FakeClient

KATA = a_class("kata", selector={"runtime": "kata"})
GOOD = Node(name="good", labels={"runtime": "kata"})
BARE = Node(name="bare[red]", labels={})
CORDONED = Node(name="cordoned", labels={"runtime": "kata"}, is_cordoned=True)
UNREACHABLE = """
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}, {name: d, cluster: {server: "http://127.0.0.1:2"}}]
contexts: [{name: c, context: {cluster: c, user: u}}, {name: d, context: {cluster: d, user: u}}]
users: [{name: u, user: {}}]
current-context: c
"""


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def answer(monkeypatch: pytest.MonkeyPatch, found: RuntimeClass, *nodes: Node) -> None:
    async def ask(name: str, kubeconfig: str | None, context: str | None) -> tuple[RuntimeClass, object]:
        return found, judge(found, nodes)

    monkeypatch.setattr(runtimeclass, "ask", ask)


@pytest.mark.parametrize("path", [["runtimeclass"], ["runtimeclass", "nodes"]])
def test_help_has_an_example(path: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*path, "--help"]) == 0
    assert "penstock runtimeclass nodes gvisor" in capsys.readouterr().out


def test_matching_nodes_come_first_and_others_say_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(monkeypatch, KATA, BARE, CORDONED, GOOD)
    assert run(["runtimeclass", "nodes", "kata"]) == 0
    lines = [line.rstrip().split(maxsplit=2) for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert lines[0] == ["NODE", "MATCHES", "WHY"]
    assert lines[2:] == [
        ["cordoned", "yes", "cordoned: takes no new pods for now"],
        ["good", "yes"],
        ["bare[red]", "no", "label runtime is missing, the class wants 'kata'"],
        ["RuntimeClass", "kata", "(handler kata): 2 of 3 nodes match."],
    ]


@pytest.mark.parametrize(
    ("found", "nodes", "text"),
    [
        (KATA, [], "The cluster has no nodes, so none takes pods of RuntimeClass kata."),
        (KATA, [BARE], "0 of 1 nodes match. Its pods stay Pending until a node does."),
        (KATA, [CORDONED], "1 of 1 nodes match. All of these are cordoned: its pods stay Pending for now."),
        (RuntimeClass(name="plain", handler="runc"), [GOOD], "1 of 1 nodes match. The class has no nodeSelector"),
    ],
)
def test_what_is_unusual_is_said(
    found: RuntimeClass,
    nodes: list[Node],
    text: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer(monkeypatch, found, *nodes)
    assert run(["runtimeclass", "nodes", found.name]) == 0
    assert text in capsys.readouterr().out


def test_json_says_the_same_to_programs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    answer(monkeypatch, KATA, BARE, GOOD)
    assert run(["runtimeclass", "nodes", "kata", "-o", "json"]) == 0
    reason = {"reason": "LabelMissing", "message": "label runtime is missing, the class wants 'kata'"}
    assert orjson.loads(capsys.readouterr().out) == {
        "runtimeClass": "kata",
        "handler": "kata",
        "nodes": [
            {"name": "bare[red]", "matches": False, "cordoned": False, "reasons": [reason]},
            {"name": "good", "matches": True, "cordoned": False, "reasons": []},
        ],
    }


@pytest.mark.parametrize(("context", "port"), [((), 1), (("--context", "d"), 2)])
def test_an_apiserver_that_is_away_is_one_line(
    context: tuple[str, ...], port: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(UNREACHABLE)
    assert run(["runtimeclass", "nodes", "kata", "--kubeconfig", str(kubeconfig), *context]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith(f"Error: http://127.0.0.1:{port}: ")
    assert shown.count("\n") == 1


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], "RuntimeClass 'absent' does not exist; the cluster has none"),
        (["b", "a"], "RuntimeClass 'absent' does not exist; there are a, b"),
        ([f"c{n:02}" for n in range(12)], "c08, c09 and 2 more"),
    ],
)
async def test_a_class_that_does_not_exist_names_those_that_do(names: list[str], text: str) -> None:
    listed = orjson.dumps({"metadata": {}, "items": [{"metadata": {"name": name}} for name in names]})
    client = FakeClient().will("GET", NotFound(404, "NotFound", "no"), listed).as_client
    with pytest.raises(click.ClickException, match=text):
        await runtimeclass.find_class(client, "absent")


async def test_a_list_of_many_pages_is_read_to_its_end() -> None:
    first = orjson.dumps({"metadata": {"continue": "more"}, "items": [{"a": 1}]})
    last = orjson.dumps({"metadata": {}, "items": None})
    fake = FakeClient().will("GET", first, last)
    assert [bytes(raw) for raw in await list_all(fake.as_client, "/api/v1/nodes", lambda raw: raw)] == [b'{"a":1}']
    assert [call.params for call in fake.calls] == [{"limit": "20"}, {"limit": "1000", "continue": "more"}]

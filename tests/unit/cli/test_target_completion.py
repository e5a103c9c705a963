"""What a shell proposes: targets of a file, queues by their kind, and names of pods without one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from click.shell_completion import ShellComplete

from controller.cli import target_completion
from controller.cli.main import root
from controller.kube import config
from controller.kube.errors import Unreachable
from tests.support.fake_client import FakeClient

FILE = str(Path(__file__).parents[2] / "corpus" / "live-backlog.json.gz")


def proposed(*arguments: str) -> list[str]:
    """What is proposed for the last of these."""
    *before, incomplete = arguments
    completer = ShellComplete(root, {}, "penstock", "_PENSTOCK_COMPLETE")
    return [one.value for one in completer.get_completions(before, incomplete)]


@pytest.mark.parametrize(
    ("incomplete", "expected"),
    [
        ("pod/train", ["pod/train-0", "pod/train-1", "pod/train-2", "pod/train-3"]),
        ("serve", ["serve-0", "serve-1", "serve-2"]),
        ("queue/s", ["queue/serving"]),
        ("clusterqueue/backlog-o", ["clusterqueue/backlog-org"]),
        ("nix/", []),
    ],
)
def test_targets_of_a_file_are_proposed(incomplete: str, expected: list[str]) -> None:
    assert proposed("explain", "--snapshot", FILE, incomplete) == expected


class Lists(FakeClient):
    """Lists what a shell may ask for."""

    async def __aenter__(self) -> Lists:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def get(self, path: str, params: Any = None, **_: Any) -> bytes:
        self.paths.append(path)
        owner = {"kind": "Job", "name": "train", "controller": True}
        pod = {"metadata": {"name": "train-a", "ownerReferences": [owner]}}
        items = {"pods": [pod]}.get(path.rpartition("/")[2], [{"metadata": {"name": "main"}}])
        return orjson.dumps({"items": items})

    def __init__(self) -> None:
        super().__init__()
        self.paths: list[str] = []


@pytest.fixture
def lists(monkeypatch: pytest.MonkeyPatch) -> Lists:
    client = Lists()

    async def load(*_: object) -> None:
        return None

    monkeypatch.setattr(target_completion, "Client", lambda *_, **__: client)
    monkeypatch.setattr(config, "load", load)
    return client


def test_targets_of_a_cluster_are_proposed(lists: Lists) -> None:
    assert proposed("explain", "-n", "team-a", "") == ["job/train", "pod/train-a", "train-a"]
    assert proposed("explain", "-n", "team-a", "queue/") == ["queue/main"]
    assert proposed("explain", "clusterqueue/") == ["clusterqueue/main"]
    assert [path.partition("/namespaces/")[2] for path in lists.paths] == ["team-a/pods", "team-a/localqueues", ""]


def test_namespaces_are_proposed(lists: Lists) -> None:
    assert proposed("pods", "-n", "ma") == ["main"]
    assert lists.paths == ["/api/v1/namespaces"]


def test_a_shell_is_shown_no_errors(lists: Lists, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: object, **__: object) -> bytes:
        raise Unreachable("no route")

    monkeypatch.setattr(lists, "get", away)
    assert proposed("eta", "pod/") == []
    assert proposed("pods", "-n", "") == []
    assert proposed("explain", "--snapshot", "/nowhere", "pod/") == []

"""`penstock policy test` and `penstock policy explain` as a user calls them."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from controller.cli.main import run
from tests.support.api_objects import Json
from tests.support.policy_files import a_namespace, write
from tests.support.sandbox import CommandLine


def the_tool(capsys: pytest.CaptureFixture[str], folder: Path, *arguments: str) -> tuple[int, str, str]:
    code = run(["policy", "test", str(folder), *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def misses(capsys: pytest.CaptureFixture[str], folder: Path) -> list[str]:
    """What failed, a line a place."""
    code, out, err = the_tool(capsys, folder, "-o", "json")
    assert err == ""
    found = [case for suite in orjson.loads(out)["suites"] for case in suite["cases"]]
    lines = [f"{f['path']}: expected {f['expected']}, got {f['got']}" for case in found for f in case["failures"]]
    assert code == (1 if lines else 0)
    return lines


def explained(line: CommandLine, file: Path, bodies: Mapping[str, Json], *where: str) -> dict[str, Json]:
    """What `explain` tells of each by its key, all of them asked for at once: a process starts in seconds."""
    file.write_text(yaml.safe_dump_all(bodies.values()))
    answer = line.run("policy", "explain", "-f", str(file), *where, "-o", "json")
    assert answer.code in (0, 1), answer.err
    found = orjson.loads(answer.out)["pods"]
    assert answer.code == (1 if any(pod["result"] == "refused" for pod in found) else 0)
    return dict(zip(bodies, found, strict=True))


class Stdin(io.StringIO):
    name = "<stdin>"


class ExplainTool:
    """The command in a folder of its own."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        code = run(["policy", "explain", *arguments])
        out, err = self._capsys.readouterr()
        return code, out, err

    def text(self, pod: Any, *objects: Json, arguments: tuple[str, ...] = ()) -> tuple[int, str, str]:
        file = write(self.folder / "pod.yaml", *(pod if isinstance(pod, list) else [pod]))
        write(self.folder / "objects.yaml", *(objects or (a_namespace("default"),)))
        return self("-f", str(file), "--objects", str(self.folder / "objects.yaml"), *arguments)

    def answer(self, pod: Any, *objects: Json, arguments: tuple[str, ...] = ()) -> Json:
        code, out, err = self.text(pod, *objects, arguments=("-o", "json", *arguments))
        assert err == ""
        (found,) = orjson.loads(out)["pods"]
        assert code == (1 if found["result"] == "refused" else 0)
        return dict(found)


def step(answer: Json, title: str = "Pod scheduling policies") -> Json:
    """One step of an answer of `penstock policy explain`."""
    return next(dict(one) for one in answer["steps"] if one["step"] == title)

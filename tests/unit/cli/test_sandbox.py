"""The command line of the sandbox: help, usage and errors, without starting one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import click
import orjson
import pytest
from click.shell_completion import ShellComplete

from controller.cli import main
from controller.cli.main import run
from controller.cli.sandbox import sandbox
from controller.sandbox import Sandbox
from controller.sandbox.layout import Layout
from controller.sandbox.nodes import SHAPE_LABEL
from controller.sandbox.process import ProcessId
from controller.sandbox.spec import Phase, Spec, State, save_spec, save_state
from tests.support.fake_client import FakeClient

ADD = "penstock sandbox nodes add --name rev"
REMOVE = "penstock sandbox nodes remove --name rev"


@pytest.fixture(autouse=True)
def empty_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "penstock" / "sandboxes"


def every_command(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    yield path
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from every_command(below, (*path, name))


@pytest.mark.parametrize("path", [(), *every_command(sandbox, ("sandbox",))], ids=" ".join)
def test_every_command_has_help_with_an_example(path: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*path, "--help"]) == 0
    shown = capsys.readouterr().out
    assert "Example:" in shown
    assert f"penstock {' '.join(path)}".strip() in shown


def test_version_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("penstock")


def test_status_without_sandboxes_is_friendly(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sandbox", "status"]) == 0
    assert capsys.readouterr().out == "No sandboxes. Start one with `penstock sandbox up`.\n"
    assert run(["sandbox", "status", "--output", "json"]) == 0
    assert orjson.loads(capsys.readouterr().out) == []


def test_down_without_sandboxes_does_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sandbox", "down"]) == run(["sandbox", "down", "--all"]) == 0
    assert "nothing to do" in capsys.readouterr().out


def test_remains_without_a_state_are_shown_and_removed(empty_state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (empty_state / "old" / "logs").mkdir(parents=True)
    assert run(["sandbox", "status"]) == 0
    assert "Crashed" in capsys.readouterr().out
    assert run(["sandbox", "down", "--name", "old"]) == 0
    assert not (empty_state / "old").exists()


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (["--nodes", "3"], []),
        ([], []),
        (
            ["--nodes", "9"],
            ["  it has 3 nodes of shape 'node', not 9; change that by:", f"  {ADD} --shape node --count 6"],
        ),
        (
            ["--nodes", "1"],
            ["  it has 3 nodes of shape 'node', not 1; change that by:", f"  {REMOVE} --shape node --count 2"],
        ),
    ],
)
def test_up_on_one_that_is_up_tells_of_another_number_of_nodes(
    asked: list[str],
    told: list[str],
    empty_state: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    layout = Layout(empty_state / "rev")
    layout.folder.mkdir(parents=True)
    save_spec(layout, Spec(name="rev"))
    running = State(name="rev", phase=Phase.READY, supervisor=ProcessId.of(os.getpid()), started=0.0, url="https://x")
    save_state(layout, running)
    nodes = [
        {"metadata": {"name": f"node-{number}", "labels": {SHAPE_LABEL: "node"}}}
        for number in range(4 if not asked else 3)
    ]
    others = [{"metadata": {"name": "gpu-0", "labels": {SHAPE_LABEL: "gpu"}}}, {"metadata": {"name": "mine"}}]
    client = FakeClient().will("GET", orjson.dumps({"items": [*nodes, *others]}))

    @asynccontextmanager
    async def opened(_: Sandbox) -> AsyncIterator[FakeClient]:
        yield client

    monkeypatch.setattr(Sandbox, "client", opened)
    assert run(["sandbox", "up", "--name", "rev", *asked]) == 0
    first, *further = capsys.readouterr().out.splitlines()
    assert first == "sandbox 'rev' is already up at https://x; nothing changed"
    assert further == told


@pytest.mark.parametrize(
    ("asked", "same"),
    [
        (["--with", "training,ray"], True),
        (["--with", "ray", "--with", "training", "--with", "ray"], True),
        (["--with", "ray"], False),
        ([], False),
    ],
)
def test_up_compares_operators_whatever_their_order(
    asked: list[str], same: bool, empty_state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layout = Layout(empty_state / "rev")
    layout.folder.mkdir(parents=True)
    save_spec(layout, Spec(name="rev", operators=("ray", "training")))
    running = State(name="rev", phase=Phase.READY, supervisor=ProcessId.of(os.getpid()), started=0.0, url="https://x")
    save_state(layout, running)
    assert run(["sandbox", "up", "--name", "rev", *asked]) == (0 if same else 1)
    shown = capsys.readouterr()
    assert "nothing changed" in shown.out if same else "other settings" in shown.err


@pytest.mark.parametrize(
    ("incomplete", "expected"),
    [
        ("", ["ray", "training"]),
        ("t", ["training"]),
        ("ray,", ["ray,training"]),
        ("training,r", ["training,ray"]),
        ("ray,r", []),
    ],
)
def test_a_shell_completes_operators_after_a_comma(incomplete: str, expected: list[str]) -> None:
    completer = ShellComplete(main.root, {}, "penstock", "_PENSTOCK_COMPLETE")
    assert [one.value for one in completer.get_completions(["sandbox", "up", "--with"], incomplete)] == expected


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["env", "--name", "x"], 1, "no sandbox named 'x' (there are: none)"),
        (["env", "--name", "../x"], 2, "sandbox name '../x'"),
        (["up", "--name", "Bad Name"], 2, "sandbox name 'Bad Name': use at most 40 of a-z"),
        (["down", "--name", "X"], 2, "sandbox name 'X'"),
        (["run", "--name", "X"], 2, "sandbox name 'X'"),
        (["up", "--kubernetes", "1.35.0"], 2, "'--kubernetes': '1.35.0' is not one of '1.37.2', '1.36.3'"),
        (["build", "--kubernetes", "v1.36.3"], 2, "'v1.36.3' is not one of '1.37.2', '1.36.3'"),
        (["up", "--with", "ray,spark"], 2, "operator 'spark': a sandbox can run only ray and training"),
        (["build", "--with", "Ray"], 2, "'--with': operator 'Ray': a sandbox can run only ray and training"),
        (["up", "--with", "ray,"], 2, "operator '': a sandbox can run only ray and training"),
        (["up", "--label", "x"], 2, "--label 'x': write NAME=VALUE"),
        (["up", "--feature-gates", "X"], 2, "--feature-gates 'X': write NAME=VALUE"),
        (["up", "--feature-gates", "X=1"], 2, "X=1: the value is true or false"),
        (["up", "--cpu", "many"], 2, "'many' is not a quantity"),
        (["up", "--nodes", "-1"], 2, "-1 is not in the range"),
        (["nodes", "remove"], 2, "Missing option '--shape'"),
        (["nodes", "add", "--count", "0"], 2, "0 is not in the range"),
        (["nodes", "add", "--shape", "X"], 2, "sandbox name 'X'"),
        (["nodes", "add", "--name", "x"], 1, "no sandbox named 'x'"),
        (["nonsense"], 2, "No such command 'nonsense'"),
    ],
)
def test_bad_input_is_one_clear_line(
    arguments: list[str], code: int, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["sandbox", *arguments]) == code
    shown = capsys.readouterr()
    assert text in shown.err
    assert shown.out == ""


def test_a_state_folder_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert run(["sandbox", "status"]) in (0, 1)
    assert run(["sandbox", "env"]) == 1
    assert "Traceback" not in capsys.readouterr().err


def test_an_interrupt_ends_with_130_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(main.root, "main", interrupted)
    assert run([]) == 130
    assert capsys.readouterr().err.strip() == "interrupted"


def test_help_is_quick_since_subcommands_are_not_imported() -> None:
    program = "import sys; from controller.cli.main import run; run(['--help']); print(sorted(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "'controller.cli.main'" in shown
    for heavy in ("controller.sandbox", "kubernetes_asyncio", "aiohttp", "cryptography", "rich"):
        assert f"'{heavy}'" not in shown

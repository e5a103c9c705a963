"""`penstock sandbox run` without a control plane: who is refused, and what becomes of a program that dies."""

from __future__ import annotations

import asyncio
import fcntl
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from controller.cli.main import run
from controller.kube.errors import ConfigError
from controller.sandbox import Sandbox, SandboxError
from controller.sandbox.installation import Gate, Installation, installed
from controller.sandbox.layout import Layout
from controller.sandbox.process import ProcessId
from controller.sandbox.programs import Program
from controller.sandbox.spec import Phase, State
from controller.telemetry.authority import KeyPair


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    """One that nobody started: it has no kubeconfig, so whoever asks its apiserver meets a ConfigError."""
    state = State(name="ci", phase=Phase.READY, supervisor=ProcessId.of(os.getpid()), started=0.0)
    return Sandbox(Layout(tmp_path), state, None)


async def install(sandbox: Sandbox) -> None:
    async with installed(sandbox):
        pass


def test_penstock_is_not_installed_where_it_runs_already(sandbox: Sandbox) -> None:
    lock = sandbox.folder / "penstock.lock"
    lock.write_text("4711")
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        told = rf"runs in sandbox 'ci' already \(process 4711\); use that one by `export KUBECONFIG={lock.parent}"
        with pytest.raises(SandboxError, match=told):
            asyncio.run(install(sandbox))


async def test_whoever_installs_it_holds_the_sandbox_until_the_end(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[str] = []

    async def install_meanwhile(*_: object) -> None:
        with pytest.raises(SandboxError) as second:
            await install(sandbox)
        refused.append(str(second.value))
        raise ConfigError("no cluster")

    monkeypatch.setattr("controller.sandbox.session.config.load", install_meanwhile)
    for _ in range(2):
        with pytest.raises(ConfigError):
            await install(sandbox)
    assert len(refused) == 2
    assert all(f"(process {os.getpid()})" in told for told in refused)


async def test_what_a_killed_run_left_goes_before_anything_comes(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    @asynccontextmanager
    async def no_client(_: Sandbox) -> AsyncIterator[None]:
        yield None

    gone: set[tuple[str, str]] = set()

    async def note(_: object, documents: list[dict[str, Any]]) -> None:
        gone.update((one["kind"], one["metadata"]["name"]) for one in documents)

    async def so_far(*_: object) -> None:
        raise ConfigError("so far")

    monkeypatch.setattr(Sandbox, "client", no_client)
    monkeypatch.setattr("controller.sandbox.installation.delete", note)
    monkeypatch.setattr("controller.sandbox.installation.apply", so_far)
    with pytest.raises(ConfigError, match="so far"):
        async with installed(sandbox, components=["pod-policies"]):
            pass
    registered = {name for kind, name in gone if kind == "ValidatingWebhookConfiguration"}
    assert registered == {"penstock-scheduling-policies"}
    assert {
        ("ValidatingAdmissionPolicy", "penstock-create"),
        ("MutatingAdmissionPolicyBinding", "penstock-gate"),
    } < gone
    # rights and policies stay, as after any run: they refuse nobody
    assert {kind.removesuffix("Binding") for kind, _ in gone} == {
        "APIService",
        "MutatingAdmissionPolicy",
        "MutatingWebhookConfiguration",
        "Service",
        "ValidatingAdmissionPolicy",
        "ValidatingWebhookConfiguration",
    }


def test_guards_stay_when_a_run_ends(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fence that comes again goes by a Lease that its apiserver reads no more (kubernetes/kubernetes#130887)."""

    @asynccontextmanager
    async def no_client(_: Sandbox) -> AsyncIterator[None]:
        yield None

    there: set[tuple[str, str]] = set()

    async def come(_: object, documents: list[dict[str, Any]]) -> None:
        there.update((one["kind"], one["metadata"]["name"]) for one in documents)

    async def go(_: object, documents: list[dict[str, Any]]) -> None:
        there.difference_update((one["kind"], one["metadata"]["name"]) for one in documents)

    async def account(*_: object) -> Path:
        return sandbox.folder / "account"

    def so_far(_: Program) -> None:
        raise ConfigError("so far")

    monkeypatch.setattr(Sandbox, "client", no_client)
    monkeypatch.setattr(Sandbox, "service_account_kubeconfig", account)
    monkeypatch.setattr(Sandbox, "serving_certificate", lambda _: KeyPair(b"", b""))
    monkeypatch.setattr(Program, "start", so_far)
    monkeypatch.setattr("controller.sandbox.installation.apply", come)
    monkeypatch.setattr("controller.sandbox.installation.delete", go)
    with pytest.raises(ConfigError, match="so far"):
        asyncio.run(install(sandbox))
    left = {name for kind, name in there if kind == "ValidatingAdmissionPolicyBinding"}
    assert left == {"penstock-account", "penstock-fence", "penstock-weights"}


DIES = "print('the last words', flush=True); raise SystemExit(3)"
LIVES = "import time; time.sleep(60)"
Started = Callable[[str], Path]


@pytest.fixture
def asked() -> dict[str, Any]:
    """How `started` was told to install Penstock."""
    return {}


@pytest.fixture
def started(sandbox: Sandbox, asked: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Started:
    """Let `penstock sandbox run` find a sandbox and, in place of the controller, a program of this text."""
    (tmp_path / "kubeconfig").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(Sandbox, "attach", lambda _: sandbox)

    def as_controller(text: str) -> Path:
        (tmp_path / "stand_in.py").write_text(text)
        controller = Program("stand_in", [], tmp_path / "penstock-controller.log")

        @asynccontextmanager
        async def in_place(_: Sandbox, **options: Any) -> AsyncIterator[Installation]:
            asked.update(options)
            controller.start()
            try:
                yield Installation(controller, Program("webhook", [], tmp_path / "penstock-webhook.log"))
            finally:
                await controller.stop()

        monkeypatch.setattr("controller.cli.sandbox_run.installed", in_place)
        return controller.log

    return as_controller


@pytest.mark.parametrize("command", [["--", sys.executable, "-c", LIVES], []])
def test_a_program_that_dies_ends_the_command_and_is_told(
    command: list[str], started: Started, capsys: pytest.CaptureFixture[str]
) -> None:
    log = started(DIES)
    assert run(["sandbox", "run", *command]) == 1
    assert f"Error: stand_in ended with 3; the end of its log {log}:\nthe last words\n" in capsys.readouterr().err


def test_what_was_found_without_penstock_is_no_result(
    started: Started, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("controller.sandbox.installation.POLL_SECONDS", 60.0)
    log = started(DIES)
    waits_for_death = f"until grep -q words {log}; do sleep 0.1; done; sleep 0.5"
    assert run(["sandbox", "run", "--", "sh", "-c", waits_for_death]) == 1
    assert "stand_in ended with 3" in capsys.readouterr().err


def test_the_exit_code_is_that_of_the_command(started: Started, capsys: pytest.CaptureFixture[str]) -> None:
    started(LIVES)
    assert run(["sandbox", "run", "--", sys.executable, "-c", "raise SystemExit(7)"]) == 7
    assert "Error" not in capsys.readouterr().err


def test_of_a_program_whose_sandbox_is_gone_there_is_no_log(
    started: Started, capsys: pytest.CaptureFixture[str]
) -> None:
    log = started("import os; os.unlink('penstock-controller.log'); raise SystemExit(3)")
    assert run(["sandbox", "run"]) == 1
    assert "Error: stand_in ended with 3: its sandbox was ended from elsewhere\n" in capsys.readouterr().err
    assert not log.exists()


NOTHING = ["--", sys.executable, "-c", ""]


def test_by_default_the_webhook_keeps_the_gate_and_that_is_told(
    started: Started, asked: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    started(LIVES)
    assert run(["sandbox", "run", *NOTHING]) == 0
    assert asked == {
        "gate": Gate.WEBHOOK,
        "components": ("visibility",),
        "webhook_arguments": [],
        "controller_arguments": ["--history", f"sqlite:///{tmp_path}/history.db"],
    }
    assert "  gate:    Webhook\n  also on: visibility, history\n" in capsys.readouterr().err


@pytest.mark.parametrize("by", ["option", "variable"])
def test_the_history_is_where_it_was_said(
    by: str, started: Started, asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    started(LIVES)
    url = "postgresql://me@127.0.0.1:1/runs"
    if by == "variable":
        monkeypatch.setenv("PENSTOCK_HISTORY", url)
    assert run(["sandbox", "run", *(["--history", url] if by == "option" else []), *NOTHING]) == 0
    assert asked["controller_arguments"] == ["--history", url]


def test_a_component_brings_what_it_needs_of_the_webhook(
    started: Started, asked: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    started(LIVES)
    named = [f"--component={name}" for name in ("runtime-class", "pod-policies", "runtime-class")]
    assert run(["sandbox", "run", *named, "--gate", "Policies", *NOTHING]) == 0
    assert (asked["gate"], asked["components"]) == (Gate.POLICIES, ("visibility", "runtime-class", "pod-policies"))
    assert asked["webhook_arguments"] == ["--runtime-classes", "--pod-policies"]
    told = "  gate:    Policies\n  also on: visibility, runtime-class, pod-policies, history\n"
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["--component", "cert-manager"],
            "'--component': cert-manager cannot work here: a sandbox has no cert-manager",
        ),
        (["--component", "pod-template-policies"], "does nothing without pod-policies; add --component pod-policies"),
        (["--component", "pods"], "'pods' is not one of"),
        (["--gate", "Both"], "'Both' is not one of 'Webhook', 'Policies'"),
        (["--componet", "pod-policies"], "No such option '--componet'. Did you mean '--component'?"),
    ],
)
def test_what_cannot_work_is_told_before_anything_is_installed(
    arguments: list[str], told: str, started: Started, asked: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    started(LIVES)
    assert run(["sandbox", "run", *arguments, *NOTHING]) == 2
    assert told in capsys.readouterr().err
    assert not asked


@pytest.mark.parametrize("separator", [[], ["--"]])
def test_options_of_the_command_are_its_own(separator: list[str], started: Started, asked: dict[str, Any]) -> None:
    started(LIVES)
    exits = "import sys; raise SystemExit(len(sys.argv))"
    assert run(["sandbox", "run", *separator, sys.executable, "-c", exits, "--gate", "--component=x", "--nope"]) == 4
    assert asked["components"] == ("visibility",)

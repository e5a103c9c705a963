"""`penstock sandbox run` without a control plane: who is refused, and what becomes of a program that dies."""

from __future__ import annotations

import asyncio
import fcntl
import os
from pathlib import Path

import pytest

from controller.kube.errors import ConfigError
from controller.sandbox import Sandbox, SandboxError
from controller.sandbox.installation import installed
from controller.sandbox.layout import Layout
from controller.sandbox.process import ProcessId
from controller.sandbox.spec import Phase, State


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

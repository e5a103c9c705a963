"""`penstock sandbox run` on a real control plane: what it brings along without any option."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.sandbox import CommandLine

pytestmark = pytest.mark.integration

SCRIPT = """
import asyncio, subprocess, sys, time
from controller.kube import config
from controller.kube.client import Client
from controller.kube.errors import NotFound

POD = {
    "metadata": {"name": "waits", "labels": {"penstock.dev/queue-name": "none"}},
    "spec": {"containers": [{"name": "main", "image": "none"}]},
}

async def create():
    async with Client(await config.load(None, None), user_agent="test") as client:
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        for _ in range(100):
            try:
                await client.get(account)
                break
            except NotFound:
                await asyncio.sleep(0.2)
        await client.post("/api/v1/namespaces/default/pods", POD)

asyncio.run(create())
for _ in range(60):
    done = subprocess.run([sys.executable, "-m", "controller.cli", *sys.argv[1:]], capture_output=True, text=True)
    if done.returncode or done.stdout.strip() == "pod/waits":
        break
    time.sleep(0.5)
print(done.stdout, done.stderr, "Pod usage:", end=" ")
sys.stdout.flush()
raise SystemExit(subprocess.run([sys.executable, "-m", "controller.cli", "usage"]).returncode)
"""


@pytest.fixture
def penstock(tmp_path: Path) -> Iterator[CommandLine]:
    line = CommandLine(tmp_path)
    yield line
    line.run("sandbox", "down", "--all")


@pytest.mark.more
def test_the_history_is_asked_without_an_option(penstock: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PENSTOCK_HISTORY", raising=False)
    assert penstock.run("sandbox", "up", "--nodes", "1").code == 0
    asked = [sys.executable, "-c", SCRIPT, "history", "-n", "default", "-o", "name"]
    answer = penstock.run("sandbox", "run", "--", *asked)
    assert (answer.code, answer.out.split(" Pod usage:")[0].split()) == (0, ["pod/waits"]), answer
    assert "Nothing ran from " in answer.err
    assert (penstock.folder("default") / "history.db").exists()

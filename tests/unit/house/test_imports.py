"""What takes much memory and time to import is imported only by those who need it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_IN_POD = """
from pathlib import Path
from controller.kube import config, service_account
service_account.FOLDER = Path({folder!r})
asyncio.run(config.load())
"""


def loaded(program: str, folder: Path) -> set[str]:
    """The modules that a program has loaded at its end, in a pod with its service account in `folder`."""
    for file in ("ca.crt", "token"):
        (folder / file).write_text("text")
    environment = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
    of_pod = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    whole = f"import asyncio, sys\n{program}\nprint(*sys.modules, file=sys.stderr)"
    return set(
        subprocess.run(
            [sys.executable, "-c", whole], capture_output=True, text=True, check=True, env={**environment, **of_pod}
        ).stderr.split()
    )


@pytest.mark.parametrize(
    "program",
    [
        "from controller.cli.main import run; run(['--help'])",
        "from controller.cli.main import run; run(['import', 'kueue', '--help'])",
        f"import webhook.__main__{_IN_POD}",
        f"import controller.__main__{_IN_POD}",
    ],
)
def test_only_who_reads_a_kubeconfig_loads_the_clients_library(program: str, tmp_path: Path) -> None:
    """It takes 35 MiB and a third of a second: the models of all kinds."""
    modules = loaded(program.format(folder=str(tmp_path)), tmp_path)
    assert "controller.kube" in modules or "controller.cli" in modules
    assert "kubernetes_asyncio" not in modules


def test_only_who_draws_loads_the_plotting_library(tmp_path: Path) -> None:
    """It takes half a second, and is not there in the image."""
    program = "from controller.cli.main import run; run(['simulate', '--help'])"
    assert "matplotlib" not in loaded(program, tmp_path)


def test_what_needs_the_library_is_told_apart(tmp_path: Path) -> None:
    assert "kubernetes_asyncio" in loaded("from controller.kube.fields import faults; faults({}, 'V1Pod')", tmp_path)

"""The wheel in an empty environment: what an image installs must run without the checkout."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.more, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that holds the locked dependencies and the built wheel, nothing else; returns its bin folder."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    run(build, cwd=ROOT)
    venv.create(folder / "env", with_pip=True)
    pip = [str(folder / "env/bin/python"), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    run([*pip, "--require-hashes", "-r", str(ROOT / "requirements/runtime.txt")], cwd=folder)
    wheels = [str(wheel) for wheel in folder.glob("*.whl")]
    run([*pip, "--no-deps", *wheels], cwd=folder)
    return folder / "env/bin"


def run(command: list[str], *, cwd: Path, code: int = 0) -> str:
    """Run a command, expect its exit code, return what it printed."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == code, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


@pytest.mark.parametrize("module", ["controller", "webhook"])
def test_both_commands_run_from_the_wheel(environment: Path, tmp_path: Path, module: str) -> None:
    text = run([str(environment / "python"), "-m", module, "--help"], cwd=tmp_path)
    assert f"python -m {module}" in text
    assert "--kubeconfig" in text


def test_a_missing_kubeconfig_is_one_clear_line(environment: Path, tmp_path: Path) -> None:
    command = [str(environment / "python"), "-m", "controller", "--kubeconfig", "absent"]
    text = run(command, cwd=tmp_path, code=1)
    assert text == (
        "Error: --kubeconfig or KUBECONFIG: no such file: absent; name one with --kubeconfig FILE or set KUBECONFIG\n"
    )


@pytest.mark.parametrize("name", ["penstock", "kubectl-penstock"])
def test_the_command_line_is_installed(environment: Path, tmp_path: Path, name: str) -> None:
    assert "sandbox" in run([str(environment / name), "--help"], cwd=tmp_path)
    assert run([str(environment / name), "--version"], cwd=tmp_path).startswith("penstock 0.")


def test_the_manifests_travel_with_the_wheel(environment: Path, tmp_path: Path) -> None:
    code = (
        "from controller.sandbox.shipped import manifests; print(*sorted(p.name for p in manifests('crd').iterdir()))"
    )
    text = run([str(environment / "python"), "-c", code], cwd=tmp_path)
    assert "penstock.dev_clusterqueues.yaml" in text

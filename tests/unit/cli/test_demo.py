"""The command line of the demo, without a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.cli.main import run


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--help"]) == 0
    assert "penstock demo --kubeconfig" in capsys.readouterr().out


def test_a_kubeconfig_that_is_not_there_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--kubeconfig", str(tmp_path / "none")]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith("Error: --kubeconfig or KUBECONFIG: no such file")
    assert shown.count("\n") == 1


def test_no_pods_are_wrong_usage() -> None:
    assert run(["demo", "--pods", "0"]) == 2

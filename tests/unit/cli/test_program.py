from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BOTH = ["controller", "webhook"]


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PENSTOCK_", "KUBE"))}
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=ROOT,
        env={**clean, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("program", BOTH)
def test_help_names_every_option_and_its_default(program: str) -> None:
    done = run(program, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Usage: python -m {program}" in done.stdout
    for option in ("--kubeconfig FILE", "--context NAME", "--http-address HOST:PORT", "--log-level", "--log-format"):
        assert option in done.stdout
    assert "127.0.0.1:808" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--nope"], "No such option"),
        (["--workers", "0"], "0 is not in the range 1<=x<=512"),
        (["--workers", "many"], "'many' is not a valid integer range"),
        (["--http-address", "nowhere"], "'nowhere' is not an address; write HOST:PORT, such as 127.0.0.1:8080"),
        (["--log-level", "loud"], "'loud' is not one of"),
        (["extra"], "unexpected extra argument"),
    ],
)
def test_a_bad_option_is_told_and_exits_with_2(arguments: list[str], text: str) -> None:
    done = run("controller", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert text in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_way_to_merge_policies_is_wrong_usage() -> None:
    done = run("webhook", "--scheduling-policy-merge", "Deep")
    assert (done.returncode, done.stdout) == (2, "")
    assert "'Deep' is not one of 'DeepMerge', 'FirstPolicy', 'FirstEntry'" in done.stderr


def test_an_impossible_default_class_is_wrong_usage() -> None:
    text = "'Kata' cannot be the name of a RuntimeClass; write one such as gvisor, in lower case"
    for done in (
        run("webhook", "--default-runtime-class", "Kata"),
        run("webhook", PENSTOCK_DEFAULT_RUNTIME_CLASS="Kata"),
    ):
        assert (done.returncode, done.stdout) == (2, "")
        assert text in done.stderr


@pytest.mark.parametrize("group", ["", " ", "system:masters"])
def test_a_break_glass_group_of_everybody_is_wrong_usage(group: str) -> None:
    done = run("webhook", "--break-glass-group", group)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{group!r} cannot be the break-glass group; write a name of its own such as penstock:" in done.stderr


def test_an_option_can_come_from_the_environment() -> None:
    done = run("controller", PENSTOCK_WORKERS="0")
    assert (done.returncode, "0 is not in the range" in done.stderr) == (2, True)


def test_an_absent_kubeconfig_is_one_line_and_exit_code_1(tmp_path: Path) -> None:
    done = run("controller", "--kubeconfig", str(tmp_path / "none"))
    expected = (
        f"--kubeconfig or KUBECONFIG: no such file: {tmp_path}/none; name one with --kubeconfig FILE or set KUBECONFIG"
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"Error: {expected}\n")


def test_a_broken_kubeconfig_is_one_line_and_exits_with_1(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("a: [")
    done = run("controller", KUBECONFIG=str(broken))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith(f"Error: kubeconfig {broken}: not YAML: ")


@pytest.mark.parametrize("option", ["--tls-cert", "--tls-key"])
def test_a_certificate_and_its_key_belong_together(option: str) -> None:
    done = run("webhook", option, "none")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--tls-cert and --tls-key belong together; give both, or neither" in done.stderr


def test_the_webhook_names_a_certificate_that_is_not_there(tmp_path: Path) -> None:
    missing = tmp_path / "tls.crt"
    done = run("webhook", "--tls-cert", str(missing), "--tls-key", str(missing))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith(f"Error: certificate {missing} with key {missing}: ")

"""`penstock doctor` as a command: what it prints, its exit code, and what it leaves out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from controller.cli import doctor
from controller.cli.doctor_checks.cluster import Cluster
from controller.cli.doctor_checks.every import Result, examine
from controller.cli.doctor_checks.findings import Check, error, warning
from controller.cli.doctor_checks.leader import LEADER
from controller.cli.main import run
from controller.kube.errors import Forbidden, KubeError, Unreachable
from tests.support.still_cluster import StillClient


async def test_what_may_not_be_read_is_left_out() -> None:
    (result,) = await examine(StillClient({}, refused=("get leases",)).cluster, (LEADER,))
    assert not result.is_done
    assert result.findings[0].what.startswith("may not get leases.coordination.k8s.io in namespace penstock-system, ")


@pytest.mark.parametrize("fault", [Forbidden(403, "", "no"), Unreachable("away")])
async def test_a_fault_ends_one_check_and_silence_all(fault: KubeError) -> None:
    async def run_it(cluster: Cluster) -> Any:
        raise fault
        yield

    check = Check("failing", run_it, lambda _: ())
    if isinstance(fault, Unreachable):
        with pytest.raises(Unreachable):
            await examine(StillClient({}).cluster, (check,))
        return
    (result,) = await examine(StillClient({}).cluster, (check,))
    assert result.findings[0].what == "did not let this be checked to its end: 403: no"


UNREACHABLE = """
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {}}]
current-context: c
"""
SICK = [
    Result("crds", (warning("it[red]", "is old", "renew it"),)),
    Result("leader", (error("Lease a/b", "has no holder " + "and so on " * 20, "start it"),)),
    Result("pods", ()),
]


@pytest.fixture
def kubeconfig(tmp_path: Path) -> str:
    file = tmp_path / "config"
    file.write_text(UNREACHABLE)
    return str(file)


def answer(monkeypatch: pytest.MonkeyPatch, *results: Result) -> None:
    async def examined(_: Cluster) -> list[Result]:
        return list(results)

    monkeypatch.setattr(doctor, "examine", examined)


def test_errors_come_first_each_on_a_line(
    kubeconfig: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(monkeypatch, *SICK)
    assert run(["doctor", "--kubeconfig", kubeconfig]) == 1
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert [line[:2] for line in lines[2:4]] == [["Error", "leader"], ["Warning", "crds"]]
    assert lines[3][2:] == ["it[red]", "is", "old", "renew", "it"]
    assert lines[-1] == ["1", "error,", "1", "warning.", "Nothing", "wrong", "with:", "pods."]


@pytest.mark.parametrize(("results", "code"), [(SICK, 1), (SICK[:1], 0), ([], 0)])
def test_the_exit_code_says_whether_there_are_errors(
    results: list[Result], code: int, kubeconfig: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(monkeypatch, *results)
    assert run(["doctor", "--kubeconfig", kubeconfig]) == code


@pytest.mark.parametrize(("output", "read"), [("json", orjson.loads), ("yaml", yaml.safe_load)])
def test_programs_read_the_same(
    output: str, read: Any, kubeconfig: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(monkeypatch, SICK[0], SICK[2])
    assert run(["doctor", "--kubeconfig", kubeconfig, "-o", output]) == 0
    row = {"severity": "Warning", "check": "crds", "where": "it[red]", "what": "is old", "remedy": "renew it"}
    assert read(capsys.readouterr().out) == {
        "checks": [
            {"name": "crds", "done": True, "findings": 1, "unseen": ""},
            {"name": "pods", "done": True, "findings": 0, "unseen": ""},
        ],
        "findings": [row],
    }


def test_what_was_not_looked_at_is_said_last(
    kubeconfig: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(monkeypatch, Result("cache", (), is_done=False, unseen="it is not enabled"), Result("pods", ()))
    assert run(["doctor", "--kubeconfig", kubeconfig]) == 0
    told = "0 errors, 0 warnings. Nothing wrong with: pods. Not looked at: cache (it is not enabled).\n"
    assert capsys.readouterr().out == told


def test_an_apiserver_that_is_away_is_no_answer(kubeconfig: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--kubeconfig", kubeconfig]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("Error: http://127.0.0.1:1: ")
    assert shown.count("\n") == 1


@pytest.mark.parametrize("form", ["table", "json"])
def test_nothing_looked_at_is_no_answer(
    kubeconfig: str, form: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hidden = Result(
        "pods", (warning("you", "may not list pods, so this was not checked", "ask for it"),), is_done=False
    )
    answer(monkeypatch, Result("cache", (), is_done=False, unseen="it is not enabled"), hidden, hidden)
    assert run(["doctor", "--kubeconfig", kubeconfig, "-o", form]) == 2
    shown = capsys.readouterr()
    text = "no check could be done: you may not list pods, so this was not checked, nor was anything else; ask for it"
    assert (shown.out, shown.err) == ("", f"Error: {text}\n")
    answer(monkeypatch, hidden, Result("crds", ()))
    assert run(["doctor", "--kubeconfig", kubeconfig, "-o", form]) == 0

"""What commands say when a cluster cannot be asked: what, where, what to do; on stderr alone, on one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.cli.main import run
from controller.cli.refusals import told
from controller.kube.errors import Forbidden, KubeError, NotFound, Unauthorized, Unreachable

COMMANDS: dict[str, int] = {
    "queues": 1,
    "queues -o json": 1,
    "pods -n team-a": 1,
    "jobs -A -o yaml": 1,
    "prio": 1,
    "share": 1,
    "flavors": 1,
    "nodes -o wide": 1,
    "explain pod/x -o json": 1,
    "eta": 1,
    "simulate": 1,
    "snapshot -o -": 1,
    "doctor": 2,
    "doctor -o json": 2,
    "hold pod/x": 1,
    "release pod/x": 1,
    "release --all --dry-run": 1,
    "top pod/x": 1,
    "drain queue/x": 1,
    "open clusterqueue/x": 1,
    "policy report": 2,
    "policy report -n team-a -o json": 2,
}
"""With the exit code of no answer, as --help says."""

NOBODY_THERE: Any = {
    "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
    "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
    "users": [{"name": "u", "user": {}}],
    "current-context": "here",
}


@pytest.fixture
def kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(NOBODY_THERE))
    monkeypatch.setenv("KUBECONFIG", str(file))
    return str(file)


@pytest.mark.parametrize(("command", "code"), COMMANDS.items())
def test_a_fault_is_one_line_with_what_to_do(
    command: str, code: int, kubeconfig: str, capsys: pytest.CaptureFixture[str]
) -> None:
    absent = f"{kubeconfig}-absent"
    faults = {
        ("--kubeconfig", absent): f"--kubeconfig or KUBECONFIG: no such file: {absent}; name one with --kubeconfig "
        "FILE or set KUBECONFIG",
        ("--context", "nope"): f"kubeconfig {kubeconfig}: there is no context 'nope'; name one of here with --context",
        (): "http://127.0.0.1:1: no connection: Connection refused; check that the cluster is running and that you "
        "can reach this address, or name another cluster with --kubeconfig or --context",
    }
    for options, text in faults.items():
        assert run([*command.split(), *options]) == code
        assert capsys.readouterr() == ("", f"Error: {text}\n")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            Forbidden(403, "Forbidden", 'x: User "j" cannot get resource "pods" in API group "" in the namespace "a"'),
            "no right to get pods in namespace a: ask for the ClusterRole view in namespace a",
        ),
        (
            Forbidden(403, "Forbidden", 'User "j" cannot list resource "nodes" in API group "" at the cluster scope'),
            "no right to list nodes in the whole cluster: no role of Kubernetes or Penstock has it; ask a cluster",
        ),
        (Forbidden(403, "Forbidden", "a policy\nsays no"), "403 Forbidden: a policy says no"),
        (Unauthorized(401, "Unauthorized", "Unauthorized"), "the apiserver does not accept the credentials"),
        (Unreachable("https://a: no answer in time"), "https://a: no answer in time; check that the cluster"),
        (NotFound(404, "NotFound", "gone"), "404 NotFound: gone"),
    ],
)
def test_what_the_apiserver_says_is_told_with_what_to_do(error: KubeError, text: str) -> None:
    assert told(error).startswith(text)
    assert "\n" not in told(error)

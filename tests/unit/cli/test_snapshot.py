"""The command line of `penstock snapshot`: where it writes, what it says, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.cli import snapshot_input
from controller.cli.main import run
from controller.core.forecasts.forecast import USUAL_DEPTH
from controller.core.kubernetes.quota_resources import AS_REQUESTED, QuotaResources
from controller.kube.client import Client
from controller.kube.errors import Forbidden
from controller.replay.as_written import AsWritten
from controller.replay.packing import unpacked
from controller.replay.recording import CannotRecordError, Recorded
from controller.replay.snapshot_file import to_bytes
from tests.corpus.plans import read

KUBECONFIG = """
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {}}]
current-context: c
"""
SAVED = read("live-backlog")
WRITTEN = AsWritten(cluster_queues={})
PLAIN = to_bytes(SAVED, WRITTEN)


@pytest.fixture
def kubeconfig(tmp_path: Path) -> str:
    file = tmp_path / "config"
    file.write_text(KUBECONFIG)
    return str(file)


@pytest.fixture
def depths(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A cluster that is recorded without being asked; which depths of backfill were told."""
    return answer(monkeypatch)


def answer(monkeypatch: pytest.MonkeyPatch, *unreadable: str, fault: Exception | None = None) -> list[int]:
    depths: list[int] = []

    async def record(client: Client, *, backfill_depth: int, resources: QuotaResources) -> Recorded:
        assert resources == AS_REQUESTED
        depths.append(backfill_depth)
        if fault is not None:
            raise fault
        return Recorded(SAVED, WRITTEN, unreadable)

    monkeypatch.setattr(snapshot_input, "record", record)
    return depths


@pytest.mark.parametrize(("name", "is_packed"), [("now.json", False), ("now.json.gz", True)])
def test_a_file_is_packed_where_its_name_says_so(
    name: str, is_packed: bool, kubeconfig: str, depths: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / name
    assert run(["snapshot", "--kubeconfig", kubeconfig, "-o", str(file)]) == 0
    data = file.read_bytes()
    assert (data != PLAIN, unpacked(data)) == (is_packed, PLAIN)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == f"saved 13 pods (10 waiting), 3 ClusterQueues, 3 nodes: {len(data)} bytes\n"
    assert depths == [USUAL_DEPTH]


@pytest.mark.parametrize("options", [(), ("-o", "-")])
def test_a_pipe_gets_the_plain_file_and_nothing_else(
    options: tuple[str, ...], kubeconfig: str, depths: list[int], capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert run(["snapshot", "--kubeconfig", kubeconfig, "--backfill-depth", "7", *options]) == 0
    assert capfdbinary.readouterr().out == PLAIN
    assert depths == [7]


def test_a_terminal_is_refused_unless_it_is_named(
    kubeconfig: str, depths: list[int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert run(["snapshot", "--kubeconfig", kubeconfig]) == 2
    assert "name a file with -o FILE, or pipe it on" in capsys.readouterr().err
    assert depths == []
    assert run(["snapshot", "--kubeconfig", kubeconfig, "-o", "-"]) == 0


def test_where_nothing_can_be_written_the_cluster_is_not_asked(
    kubeconfig: str, depths: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "missing" / "now.json"
    told = {
        str(tmp_path): f"Error: {tmp_path}: is a directory; name a file in it\n",
        str(missing): f"Error: {missing}: there is no directory {missing.parent}\n",
    }
    for output, text in told.items():
        assert run(["snapshot", "--kubeconfig", kubeconfig, "-o", output]) == 1
        assert capsys.readouterr().err == text
    assert depths == []


def test_a_file_that_cannot_be_written_is_one_line(
    kubeconfig: str, depths: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    longer = tmp_path / ("n" * 300)
    assert run(["snapshot", "--kubeconfig", kubeconfig, "-o", str(longer)]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith(f"Error: {longer}: cannot be written: [Errno 36] File name too long")
    assert (shown.count("\n"), depths) == (1, [USUAL_DEPTH])


def test_what_is_left_out_is_told(
    kubeconfig: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(monkeypatch, *(f"pods: fault {number}" for number in range(5)))
    assert run(["snapshot", "--kubeconfig", kubeconfig, "-o", "-"]) == 0
    told = capsys.readouterr().err.splitlines()[0]
    assert told == "left out, since they cannot be read: pods: fault 0, pods: fault 1, pods: fault 2 and 2 more"


@pytest.mark.parametrize("fault", [CannotRecordError("no right to list nodes"), Forbidden(403, "Forbidden", "no")])
def test_a_fault_of_the_cluster_is_one_line_and_writes_no_file(
    fault: Exception,
    kubeconfig: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer(monkeypatch, fault=fault)
    file = tmp_path / "now.json"
    assert run(["snapshot", "--kubeconfig", kubeconfig, "-o", str(file)]) == 1
    assert capsys.readouterr().err == f"Error: {fault}\n"
    assert not file.exists()


def test_an_apiserver_that_is_away_is_one_line(kubeconfig: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["snapshot", "--kubeconfig", kubeconfig, "-o", "-"]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith("Error: http://127.0.0.1:1: ")
    assert shown.count("\n") == 1


def test_help_says_what_cannot_be_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["snapshot", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "refused releases, evictions that were refused a moment ago, members that gangs have lost" in shown

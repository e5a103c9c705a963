"""`penstock pods`, `queues`, `flavors`, `explain` and the like on a file: what they print, and how they refuse."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
import yaml

from controller.cli.main import run
from controller.replay.as_written import AsWritten
from controller.replay.recording import Recorded
from tests.corpus.plans import read, snapshot_file

BACKLOG = str(snapshot_file("live-backlog"))
FAIR = str(snapshot_file("live-fair-sharing"))
COMMANDS = ("queues", "pods", "jobs", "prio", "share", "flavors", "nodes")

Asked = Callable[..., str]


@pytest.fixture
def asked(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Asked:
    monkeypatch.setenv("COLUMNS", "80")

    def ask(*arguments: str, file: str = BACKLOG) -> str:
        assert run([*arguments, "--snapshot", file]) == 0
        return capsys.readouterr().out

    return ask


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Asked:
    def refuse(*arguments: str, code: int = 1, file: str = BACKLOG) -> str:
        assert run([*arguments, "--snapshot", file]) == code
        shown = capsys.readouterr()
        assert shown.out == ""
        return shown.err.strip().splitlines()[-1].removeprefix("Error: ")

    return refuse


def test_the_tree_is_indented_and_counts_who_waits(asked: Asked) -> None:
    lines = asked("queues").splitlines()
    assert lines[0].split() == ["CLUSTERQUEUE", "PENDING", "RESERVED", "RUNNING", "ACTIVE", "USED/QUOTA"]
    assert lines[2].startswith("  backlog-research   5 ")
    assert lines[2].endswith("backlog-spot cpu 6/6, backlog-on-demand cpu 0/2"), "a pipe is not folded at 80 columns"


def test_local_queues_are_those_people_submit_to(asked: Asked) -> None:
    assert [line.split()[:3] for line in asked("queues", "--local", "--no-headers").splitlines()] == [
        ["backlog", "closed", "backlog-serving"],
        ["backlog", "research", "backlog-research"],
        ["backlog", "serving", "backlog-serving"],
    ]


def test_pods_can_be_narrowed_and_sorted(asked: Asked) -> None:
    running = asked("pods", "--state", "running", "-o", "name").split()
    assert running == ["pod/first-0", "pod/first-1", "pod/first-2"]
    assert "pod/serve-0" not in asked("pods", "--queue", "research", "-o", "name")
    assert asked("pods", "--sort-by", "name", "-o", "name").split()[0] == "pod/first-0"


def test_flavors_show_what_their_nodes_have(asked: Asked) -> None:
    headings, _, spot = asked("flavors").splitlines()
    assert headings.split() == ["FLAVOR", "NODES", "READY", "SCHEDULABLE", "PODS", "USED+OTHERS/CAPACITY"]
    assert spot.split(maxsplit=5) == ["backlog-spot", "2", "2", "2", "3", "cpu 6/16, memory 0/64Gi, pods 3/220"]
    wide = asked("flavors", "-o", "wide").splitlines()[2]
    assert all(one in wide for one in ("cpu 10, memory 64Gi, pods 217", "cpu 14"))
    assert asked("rf") == asked("flavors"), "as kueuectl calls it"


def test_nodes_can_be_narrowed_and_sorted(asked: Asked) -> None:
    assert asked("nodes", "--flavor", "backlog-spot", "-o", "name").split() == [
        "node/backlog-spot-0",
        "node/backlog-spot-1",
    ]
    assert asked("nodes", "--sort-by", "pods", "-o", "name").split()[-1] == "node/backlog-spot-0"
    assert len(asked("nodes", "--state", "ready", "--no-headers").splitlines()) == 3
    assert asked("nodes", "--state", "cordoned", "--state", "notready", "-o", "csv", "--no-headers") == ""


@pytest.mark.parametrize("command", COMMANDS)
def test_programs_get_the_same_rows_in_every_format(asked: Asked, command: str) -> None:
    file = FAIR if command == "share" else BACKLOG
    rows = orjson.loads(asked(command, "-o", "json", file=file))
    assert rows
    assert yaml.safe_load(asked(command, "-o", "yaml", file=file)) == rows
    headed, *others = csv.reader(io.StringIO(asked(command, "-o", "csv", file=file)))
    assert len(others) == len(rows)
    assert len(asked(command, "-o", "name", file=file).split()) == len(rows)
    assert len(asked(command, "--no-headers", file=file).splitlines()) == len(rows)
    assert all(len(one) == len(headed) for one in others)


@pytest.mark.parametrize("command", [one for one in COMMANDS if one != "flavors"])
def test_an_empty_answer_says_so_beside_the_output(
    capsys: pytest.CaptureFixture[str], command: str, tmp_path: Path
) -> None:
    if command == "queues":
        arguments = ["queues", "--local", "-n", "nobody"]
    elif command == "nodes":
        arguments = ["nodes", "--flavor", "none"]
    else:
        arguments = [command] if command == "share" else [command, "-n", "nobody"]
    assert run([*arguments, "--snapshot", BACKLOG]) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.strip().endswith(".")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["pods", "--queue", "nix"],
            "Nothing matches --queue nix of 13 pods of queues in any namespace: these are of absent, closed, research, "
            "serving.",
        ),
        (
            ["pods", "--queue", "rsearch", "--state", "Running"],
            "Nothing matches --state Running --queue rsearch of 13 pods of queues in any namespace; did you mean "
            "research?",
        ),
        (
            ["pods", "--queue", "serving", "--state", "Reserved"],
            "Nothing matches --state Reserved --queue serving of 13 pods of queues in any namespace.",
        ),
        (
            ["jobs", "--queue", "srving", "-n", "backlog"],
            "Nothing matches --queue srving of 13 pods of queues in namespace backlog; did you mean serving?",
        ),
        (["pods", "--queue", "nix", "-n", "nobody"], "No pods name a queue in namespace nobody."),
        (
            ["nodes", "--flavor", "backlog-spott"],
            "Nothing matches --flavor backlog-spott of 3 nodes; did you mean backlog-spot?",
        ),
        (["nodes", "--state", "NotReady"], "Nothing matches --state NotReady of 3 nodes."),
    ],
)
def test_a_filter_that_leaves_nothing_is_told(arguments: list[str], told: str, refused: Asked) -> None:
    assert refused(*arguments, code=0) == told


def test_an_explanation_has_arithmetic_holders_and_changes(asked: Asked) -> None:
    text = asked("explain", "serve-2")
    assert text.splitlines()[0] == "pod/serve-2 in namespace backlog waits: ParentQueueLimit"
    assert "flavor backlog-spot: needs 3 cpu, 2 free at backlog-org: 1 short (ParentQueueLimit)" in text
    assert "queue    backlog-research: 6 cpu, 3 pods" in text
    assert "Any one of these would admit it:\n  - when backlog/first-0 ends (onto backlog-spot) [by itself]" in text


def test_an_explanation_of_what_runs_says_where_it_is(asked: Asked) -> None:
    said = "backlog/first-0 was admitted by ClusterQueue backlog-research onto flavor backlog-spot, on node"
    assert asked("explain", "pod/first-0").startswith(said)
    document = orjson.loads(asked("explain", "pod/first-0", "-o", "json"))
    assert document["message"].startswith(said)


def test_an_explanation_is_read_by_programs_too(asked: Asked) -> None:
    document = orjson.loads(asked("explain", "serve-2", "-o", "json"))
    assert document["reason"] == "ParentQueueLimit"
    assert document["remedies"][0]["admits"] is True
    assert yaml.safe_load(asked("explain", "serve-2", "-o", "yaml")) == document


def test_a_queue_is_explained_by_the_reasons_of_its_pods(asked: Asked) -> None:
    lines = asked("explain", "cq/backlog-org").splitlines()
    assert lines[0] == "ClusterQueue backlog-org: 9 pods wait, 0 are reserved, 3 run"
    assert asked("explain", "queue/closed").startswith(
        "LocalQueue closed in namespace backlog: 1 pod waits, 0 are reserved, 0 run\n"
    )
    assert "  backlog-spot cpu: 6 of 14 used, 8 free" in lines
    assert "  NeverFits: 1 pod, first pod/large in backlog" in lines
    local = orjson.loads(asked("explain", "queue/closed", "-o", "json"))
    assert [(one["reason"], one["pods"], one["first"]) for one in local["reasons"]] == [("QueueStopped", 1, "pod/held")]
    assert local["queue"]["active"] is False


def test_a_misspelt_queue_is_answered_with_what_may_be_meant(refused: Asked) -> None:
    told = refused("explain", "clusterqueue/backlog-ogr")
    assert told == "clusterqueue/backlog-ogr: there is no such queue; did you mean clusterqueue/backlog-org?"
    told = refused("explain", "lq/closd", "-n", "backlog")
    assert told == "queue/closd: there is no such queue in namespace backlog; did you mean queue/closed?"
    assert refused("explain", "lq/x", "-n", "nobody").endswith("; penstock queues lists the queues")


def test_a_misspelt_target_is_answered_with_what_may_be_meant(refused: Asked) -> None:
    told = refused("explain", "pod/srve-2")
    assert told == "pod/srve-2: nothing of that name is in a queue; did you mean pod/serve-2?"
    assert "write pod/NAME" in refused("explain", "a/b/c", code=2)


def test_eta_proposes_what_waits(refused: Asked) -> None:
    assert refused("eta", "pod/frst-0").endswith("; did you mean pod/train-0?"), "first-0 runs"


def test_a_selector_that_selects_nothing_is_told(refused: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller.cli.pods.selected", lambda *_: frozenset())
    told = "Nothing matches -l app=web of 13 pods of queues in any namespace."
    assert refused("pods", "-l", "app=web", code=0) == told
    assert refused("jobs", "-l", "app=web", code=0) == told


def test_wrong_usage_is_refused_with_what_to_do(refused: Asked) -> None:
    assert refused("pods", "--sort-by", "colour", code=2).startswith("--sort-by: 'colour' is no field; there are ")
    assert refused("pods", "--sort-by", "requests", code=2) == "--sort-by: requests has no order"
    assert "no name of a namespace" in refused("pods", "-n", "A_B", code=2)
    assert refused("pods", "-l", "app=web", code=2).startswith("-l asks the apiserver for labels")
    assert "leave one of them out" in refused("pods", "-n", "backlog", "-A", code=2)
    assert "leave one of them out" in refused("pods", "--without-api", code=2)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_is_not_watched(refused: Asked, command: str) -> None:
    assert refused(command, "--watch", code=2).endswith("a file does not change")


def test_a_watch_asks_again_until_it_is_interrupted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    snapshot, pauses = read("live-backlog"), list[float]()

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("controller.cli.watching.sleep", pause)
    monkeypatch.setattr(
        "controller.cli.snapshot_input.read_cluster", lambda *_: Recorded(snapshot, AsWritten(cluster_queues={}), ())
    )
    assert run(["queues", "--without-api", "--watch", "-o", "name"]) == 0
    assert capsys.readouterr().out.split().count("clusterqueue/backlog-org") == 2


def test_a_file_that_is_no_snapshot_is_told_on_one_line(refused: Asked, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{}")
    assert "not a snapshot of Penstock" in refused("queues", file=str(broken))
    assert "No such file" in refused("queues", file=str(tmp_path / "absent.json"))


def test_a_file_that_contradicts_itself_is_told_on_one_line(refused: Asked, tmp_path: Path) -> None:
    from controller.replay.packing import unpacked

    plain = orjson.loads(unpacked(Path(BACKLOG).read_bytes()))
    plain["pods"] = []
    broken = tmp_path / "broken.json"
    broken.write_bytes(orjson.dumps(plain))
    assert "the file contradicts itself" in refused("pods", file=str(broken))

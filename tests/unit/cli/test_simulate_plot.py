"""`penstock simulate --plot`: what is drawn, that it is always the same, and what is said where that cannot be."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import yaml

from controller.cli.main import run
from controller.core.queueing.effective import WrittenQueue
from controller.simulator.comparing import Comparison
from tests.support.builders import a_cluster_queue, a_flavor, a_local_queue, a_node, a_pod, a_quota, a_shape
from tests.support.simulated_worlds import NOW, a_world
from tests.support.snapshot_files import a_file

PNG = b"\x89PNG\r\n\x1a\n"


def a_snapshot(folder: Path, queues: int) -> str:
    """Queues of 4 cpu, of which each has one pod more than the next one; they state an hour and ask for 2 cpu."""
    names = [f"team-{number:02}" for number in range(queues)]
    pods = [
        a_pod(f"{name}-{n}", a_shape(cpu="2"), queue=name, created=NOW - 600, expected_runtime=3600)
        for number, name in enumerate(names)
        for n in range(1 + queues - number)
    ]
    world = a_world(
        *pods,
        nodes=[a_node(f"node-{name}", cpu="64") for name in names],
        queues=[WrittenQueue(a_cluster_queue(name, a_quota(cpu="4"))) for name in names],
        locals_=[a_local_queue(name, name) for name in names],
        flavors=[a_flavor()],
    )
    return a_file(folder, world)


def plotted(folder: Path, queues: int, *arguments: str) -> str:
    plot = folder / "plot.svg"
    file = a_snapshot(folder, queues)
    assert run(["simulate", file, "--runs", "1", "--resolution", "60", *arguments, "--plot", str(plot)]) == 0
    return plot.read_text(encoding="utf-8")


def test_the_svg_names_queues_flavors_and_changes_as_text(tmp_path: Path) -> None:
    svg = plotted(tmp_path, 2, "--change", "quota:team-00/spot/cpu=8")
    for text in (
        "team-00",
        "team-01",
        "spot: cpu (cores); capacity 128, above the plot",
        "before",
        "after",
        "capacity",
        "quota:team-00/spot/cpu=8",
    ):
        assert f">{text}<" in svg or f"After: {text}." in svg, text
    assert ">spot: cpu (cores)" in svg
    assert "Left out" not in svg
    assert " from 2026-05-28T20:26:40Z" in svg


def test_without_a_change_there_is_no_before(tmp_path: Path) -> None:
    svg = plotted(tmp_path, 1)
    assert ">used<" in svg
    assert ">before<" not in svg


def test_a_capacity_far_above_what_is_used_is_named(tmp_path: Path) -> None:
    """So that what is used is more than a line at the bottom."""
    assert ">spot: cpu (cores); capacity 64, above the plot<" in plotted(tmp_path, 1)


def test_of_many_queues_eight_are_drawn_and_the_rest_named(tmp_path: Path) -> None:
    svg = plotted(tmp_path, 20, "--hours", "48")
    assert [number for number in range(20) if f">team-{number:02}<" in svg] == list(range(8))
    assert "Left out, with fewer starts: team-08, team-09, " in svg
    assert "team-19." in svg


def test_the_same_simulation_makes_the_same_files(tmp_path: Path) -> None:
    made = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        files = [folder / "plot.svg", folder / "plot.PNG"]
        plots = [text for file in files for text in ("--plot", str(file))]
        assert run(["simulate", a_snapshot(folder, 1), "--runs", "2", *plots]) == 0
        made.append([file.read_bytes() for file in files])
    assert made[0] == made[1]
    svg, png = made[0]
    assert png.startswith(PNG)
    assert b"<dc:date>" not in svg


def test_a_world_where_nothing_happens_can_be_drawn(tmp_path: Path) -> None:
    plot = tmp_path / "plot.svg"
    assert run(["simulate", a_file(tmp_path, a_world()), "--runs", "1", "--plot", str(plot)]) == 0
    assert "no pod came" in plot.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("plot", "fault"),
    [
        ("plot.pdf", "plot.pdf: the name must end in .svg or .png"),
        ("plot", "plot: the name must end in .svg or .png"),
        ("none/plot.svg", "none; create it first"),
        ("folder.svg", "folder.svg: is a folder; name a file"),
    ],
)
def test_what_cannot_be_drawn_is_said_before_it_is_simulated(
    plot: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delattr(Comparison, "steps")
    (tmp_path / "folder.svg").mkdir()
    assert run(["simulate", a_snapshot(tmp_path, 1), "--plot", str(tmp_path / plot)]) == 2
    assert fault in capsys.readouterr().err


def test_a_folder_without_the_right_to_write_is_told_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, plot = a_snapshot(tmp_path, 1), tmp_path / "plot.svg"
    monkeypatch.delattr(Comparison, "steps")
    monkeypatch.setattr(os, "access", lambda path, mode: (path, mode) != (tmp_path, os.W_OK))
    assert run(["simulate", file, "--plot", str(plot)]) == 2
    assert f"{plot}: you may not write there" in capsys.readouterr().err


def test_without_matplotlib_it_is_said_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = a_snapshot(tmp_path, 1)
    monkeypatch.delattr(Comparison, "steps")
    for name in [one for one in sys.modules if one.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert run(["simulate", file, "--plot", str(tmp_path / "plot.svg")]) == 1
    told = capsys.readouterr().err
    assert told.startswith("Error: --plot needs matplotlib, which cannot be loaded (")
    assert "pipx inject penstock 'matplotlib>=3.11'" in told


def test_what_cannot_be_written_is_said_after_the_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, plot = a_snapshot(tmp_path, 1), tmp_path / "plot.svg"
    plot.symlink_to(tmp_path / "none" / "plot.svg")
    assert run(["simulate", file, "--runs", "1", "-o", "yaml", "--plot", str(plot)]) == 1
    printed = capsys.readouterr()
    assert yaml.safe_load(printed.out)["before"]["simulations"] == 1
    assert printed.err == f"Error: --plot {plot}: cannot be written: No such file or directory\n"

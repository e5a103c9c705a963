"""Runs of real pods: each from its creation to its end, and all that was used, also after the database was away."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from controller.cli.doctor_checks.history import HISTORY
from controller.core.keys import ADMITTED_BY, EXPECTED_RUNTIME
from controller.kube.clock import epoch
from controller.visibility.start_rows import wait_text
from tests.integration.doctor.conftest import Doctor
from tests.integration.history.conftest import LABEL, Kept
from tests.support.eventually import eventually
from tests.support.team import Team

pytestmark = pytest.mark.integration


async def rows(kept: Kept, *arguments: str) -> list[dict[str, Any]]:
    done = await kept.ask(*arguments, "-o", "json")
    assert (done.code, done.errors) == (0, ""), done
    return list(orjson.loads(done.output))


async def until_states(kept: Kept, team: Team, **states: str) -> dict[str, dict[str, Any]]:
    """Wait until the history has these pods in these states; return their rows."""

    async def told() -> dict[str, dict[str, Any]]:
        found = {row["name"]: row for row in await rows(kept, "history", "-n", team.namespace)}
        assert {name: row["state"] for name, row in found.items()} == states
        return found

    return await eventually(told)


async def test_a_run_is_kept_from_creation_to_end(kept: Kept, team: Team) -> None:
    await team.ready({"spot": {"cpu": 1}})
    await team.pod("first")
    pods = await team.until_bound("first")
    await team.pod("second")
    found = await until_states(kept, team, first="Running", second="Pending")
    assert found["first"]["admittedBy"] == pods["first"]["metadata"]["annotations"][ADMITTED_BY]
    assert (found["first"]["flavor"], found["first"]["clusterQueue"]) == (team.full("spot"), team.full("cq"))
    await team.end("first")
    await team.until_bound("second")
    await until_states(kept, team, first="Succeeded", second="Running")
    told = await kept.ask("audit", "pod/first", "-n", team.namespace)
    assert (
        f"gate opened by the controller {found['first']['admittedBy']}, for ClusterQueue {team.full('cq')}"
        in told.output
    )

    (used,) = await rows(kept, "usage", "-n", team.namespace, "--by", "clusterQueue", "--from", "1h")
    assert (used["by"], used["runs"]) == ({"clusterQueue": team.full("cq")}, 2)
    ran = (await until_states(kept, team, first="Succeeded", second="Running"))["first"]["ran"]
    first = await rows(kept, "history", "pod/first", "-n", team.namespace)
    assert [row["ran"] for row in first] == [ran]


@pytest.mark.more
async def test_usage_is_summed_by_a_label(kept: Kept, team: Team) -> None:
    await team.ready({"spot": {"cpu": 3}})
    for name, labels in (("a", {LABEL: "maps"}), ("b", {LABEL: "maps", "app": "x"}), ("c", {"app": "x"})):
        await team.pod(name, labels=labels)
    await until_states(kept, team, a="Running", b="Running", c="Running")
    by_label = await rows(kept, "usage", "-n", team.namespace, "--by", f"label:{LABEL}", "--from", "1h")
    assert {row["by"][f"label:{LABEL}"]: row["runs"] for row in by_label} == {"maps": 2, "": 1}
    by_other = await rows(kept, "usage", "-n", team.namespace, "--by", "label:app", "--from", "1h")
    assert [(row["by"], row["runs"]) for row in by_other] == [({"label:app": ""}, 3)]


async def test_the_planned_wait_stands_beside_the_real_one(kept: Kept, team: Team) -> None:
    await team.ready({"spot": {"cpu": 1}})
    await team.pod("first", annotations={EXPECTED_RUNTIME: "1h"})
    await team.until_bound("first")
    await team.pod("second")
    await until_states(kept, team, first="Running", second="Pending")

    async def planned() -> str:
        (row,) = await rows(kept, "history", "pod/second", "-n", team.namespace)
        return str(row["planned"])

    at = await eventually(planned, message="there is no plan", seconds=90)
    await team.end("first")
    await team.until_bound("second")
    found = await until_states(kept, team, first="Succeeded", second="Running")
    assert found["second"]["planned"] == at
    wait = epoch(at) - epoch(found["second"]["created"])
    assert 600 < wait < 4200
    wide = await kept.ask("history", "pod/second", "-n", team.namespace, "-o", "wide")
    heading, row = wide.output.splitlines()
    assert row[heading.index("PLANNED") :].split()[0] == wait_text(wait)


async def test_doctor_says_that_the_file_cannot_be_written(kept: Kept, team: Team) -> None:
    """Admission goes on meanwhile, and what happened is written afterwards."""
    await team.ready({"spot": {"cpu": 2}})
    await team.pod("before")
    await until_states(kept, team, before="Running")
    doctor = Doctor(team.client)
    assert await doctor.finds(HISTORY) == {}

    def put_a_folder_in_its_place() -> None:
        for path in kept.file.parent.iterdir():
            path.rename(path.with_suffix(".away"))
        kept.file.mkdir()

    await asyncio.to_thread(put_a_folder_in_its_place)
    await team.pod("during")
    await team.until_bound("during")
    found = await eventually(lambda: doctor.finds(HISTORY), message="doctor finds nothing")
    assert found["the history"].endswith(f"sqlite:///{kept.file}: unable to open database file"), found
    await asyncio.to_thread(kept.file.rmdir)
    await until_states(kept, team, before="Running", during="Running")

    async def fine() -> bool:
        return await doctor.finds(HISTORY) == {}

    await eventually(fine, message="doctor still finds it")


async def test_a_file_that_is_deleted_holds_up_nobody(kept: Kept, team: Team) -> None:
    await team.ready({"spot": {"cpu": 2}})
    await team.pod("before")
    await team.until_bound("before")
    await until_states(kept, team, before="Running")

    def delete() -> None:
        for path in kept.file.parent.iterdir():
            path.unlink()

    await asyncio.to_thread(delete)
    await team.pod("after")
    await team.until_bound("after")
    await until_states(kept, team, before="Running", after="Running")

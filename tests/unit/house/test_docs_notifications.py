"""docs/notifications.md shows what is really sent, and a file that can be used."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click
import orjson
import pytest

from controller.cli.main import root
from controller.core.kubernetes.owners import Owner
from controller.notifications.budgets import BudgetNotices, BudgetState
from controller.notifications.formats import body
from controller.notifications.notices import TYPES, Kind, LateStart, Notice, Range, admitted, evicted, late, workload_of
from controller.notifications.settings import read
from tests.support.budgets import NOON, a_budget, a_counting_cache, a_run, put
from tests.support.builders import a_pod
from tests.support.notices import a_file, an_admitted_pod, an_eviction
from tests.support.shown import page, unnamed

TEXT = page("notifications.md")
EVENTS: list[dict[str, Any]] = [json.loads(one) for one in re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)]
LINES = [one.strip() for one in re.findall(r"```text\n(.*?)```", TEXT, re.DOTALL)]
TRAIN = Owner("batch/v1", "Job", "train", "6c1f0d7e-4a0b-4d53-9f0e-2f6d1c2b7a11")


def of_budget() -> Notice:
    budget = a_budget()
    cache = a_counting_cache(budget)
    put(cache, a_run(started=NOON), now=NOON)
    notices = BudgetNotices(lambda _: frozenset())
    now = NOON + 3600
    cache.advance(now)
    tally = cache.budgets.tally("team-a", budget)
    assert tally is not None
    (notice,) = notices.look([BudgetState("team-a", budget, tally)], [50], now)
    return notice


def sent() -> list[Notice]:
    """What stands on the page, in its order."""
    ours: dict[str, Any] = {"namespace": "team-a", "owner": TRAIN}
    pods = [an_admitted_pod(f"train-{number}", **ours, created=NOON - 720) for number in range(2)]
    ref = workload_of(pods[0])
    gone = an_admitted_pod("train-0", **ours, uid="d2c0b6a4-93a5-4c06-8f5e-5f1f3a9c0e22")
    start = LateStart(
        pod=a_pod("train-0", **ours, created=NOON - 3600),
        cluster_queue="team-a",
        first=Range(NOON - 3540, NOON - 2400, NOON - 1800, NOON),
        latest=Range(NOON - 60, NOON + 600, NOON + 1200, NOON + 2400),
        reason="QuotaExceeded",
        message="flavor spot: quota of ClusterQueue team-a is used up",
    )
    return [
        admitted(ref, pods),
        late(ref, [start], NOON + 5),
        evicted(ref, [an_eviction(gone)], NOON + 1800),
        of_budget(),
    ]


@pytest.mark.parametrize("number", range(len(Kind)), ids=[kind.value for kind in Kind])
def test_what_is_shown_is_what_is_sent(number: int) -> None:
    notice = sent()[number]
    assert orjson.loads(body("CloudEvents", [notice], "prod")) == EVENTS[number]
    assert orjson.loads(body("Slack", [notice], "prod")) == {"text": LINES[number]}
    headings = re.findall("^### (.*)$", TEXT, re.MULTILINE)
    assert (headings[number], EVENTS[number]["type"]) == (notice.kind.value, TYPES[notice.kind])


def test_every_kind_is_shown_once() -> None:
    assert [one["type"] for one in EVENTS] == [TYPES[kind] for kind in Kind]
    assert len(LINES) == len(Kind)


def test_the_file_that_is_shown_can_be_used(tmp_path: Path) -> None:
    (shown,) = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    settings = read(a_file(tmp_path, shown))
    assert ([one.name for one in settings.receivers], settings.percents) == (["billing", "team-a-chat"], {80, 100})


def test_every_option_is_named() -> None:
    group = root.get_command(click.Context(root), "notifications")
    assert isinstance(group, click.Group)
    (command,) = group.commands.values()
    assert "penstock notifications test notifications.yaml" in TEXT
    assert unnamed([one for one in command.params if isinstance(one, click.Option)], TEXT) == []

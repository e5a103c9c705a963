"""Each alert rests on metrics that exist, and leads to a section of the runbooks, which says when it fires."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from controller.telemetry.metrics import ControllerMetrics
from tests.support import promtool
from webhook.metrics import WebhookMetrics

ALERTS = promtool.alerts()
_DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("name", ALERTS)
def test_it_rests_on_metrics_that_exist(name: str) -> None:
    described = [family for one in (ControllerMetrics(), WebhookMetrics()) for family in one.registry.collect()]
    known = {re.sub("_total$", "", family.name) for family in described}
    used = set(re.findall(r"penstock_\w+", ALERTS[name]["expr"]))
    assert used
    assert {re.sub("_(total|count|bucket)$", "", metric) for metric in used} <= known


@pytest.mark.parametrize("name", ALERTS)
def test_its_runbook_exists(name: str) -> None:
    page, _, anchor = ALERTS[name]["annotations"]["runbook_url"].removeprefix("docs/").partition("#")
    headings = re.findall(r"^## (.*)$", (_DOCS / page).read_text(), re.MULTILINE)
    assert anchor in {re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in headings}

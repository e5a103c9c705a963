"""Each alert rests on metrics that exist, and leads to a section of the runbooks, which says when it fires."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from controller.telemetry.metrics import ControllerMetrics
from tests.support import promtool
from webhook.metrics import WebhookMetrics

ALERTS = promtool.alerts()
OF_THE_APISERVER = {
    "apiserver_admission_webhook_rejection_count",
    "apiserver_admission_webhook_fail_open_count",
}
"""A live test has them from an apiserver."""
_DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("name", ALERTS)
def test_it_rests_on_metrics_that_exist(name: str) -> None:
    described = [family for one in (ControllerMetrics(), WebhookMetrics()) for family in one.registry.collect()]
    known = {re.sub("_total$", "", family.name) for family in described}
    expression = ALERTS[name]["expr"]
    used = {one for one in re.findall(r"\b(?:penstock|apiserver)_\w+", expression) if one not in OF_THE_APISERVER}
    assert used or any(one in expression for one in OF_THE_APISERVER)
    assert {re.sub("_(total|count|bucket)$", "", metric) for metric in used} <= known


@pytest.mark.parametrize("name", ALERTS)
def test_its_runbook_exists(name: str) -> None:
    page, _, anchor = ALERTS[name]["annotations"]["runbook_url"].removeprefix("docs/").partition("#")
    headings = re.findall(r"^## (.*)$", (_DOCS / page).read_text(), re.MULTILINE)
    assert anchor in {re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in headings}

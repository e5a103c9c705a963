"""How the chart gives the controllers the database of the history."""

from __future__ import annotations

import pytest

from tests.integration.chart.comparing import rendered
from tests.support.deployments import container_of

pytestmark = pytest.mark.integration

WEBHOOK = "apps/v1 Deployment penstock-system/penstock-webhook"


def test_the_history_is_where_and_as_long_as_was_said() -> None:
    name = "apps/v1 Deployment penstock-system/penstock-controller"
    assert "env" not in container_of(rendered()[name])
    objects = rendered(
        history={"enabled": True, "secretName": "db.url", "days": 30, "labels": ["team", "example.com/App"]}
    )
    url, days, labels = container_of(objects[name])["env"]
    assert url["valueFrom"]["secretKeyRef"] == {"name": "db.url", "key": url["name"]}
    assert labels == {"name": "PENSTOCK_HISTORY_LABELS", "value": "team,example.com/App"}
    assert (url["name"], days) == ("PENSTOCK_HISTORY", {"name": "PENSTOCK_HISTORY_DAYS", "value": "30"})
    assert "env" not in container_of(rendered(gate={"mode": "Webhook"}, history={"enabled": True})[WEBHOOK])

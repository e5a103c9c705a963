"""Who may reach Penstock's pods, and where these go, by values of the chart; those without effect are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from tests.integration.chart.comparing import CHART, Json, rendered
from tests.support import renderer
from tests.support.network_policies import Host, Pod, Port, allows

pytestmark = pytest.mark.integration

VALUES = yaml.safe_load((CHART / "values.yaml").read_text())["networkPolicy"]
CONTROL_PLANE = [{"ipBlock": {"cidr": "10.0.0.0/28"}}]
APISERVER, OUTSIDE = Host("10.0.0.2"), Host("203.0.113.9")
CONTROLLER = Pod(
    "penstock-system",
    {"app.kubernetes.io/part-of": "penstock", "app.kubernetes.io/name": "penstock-controller"},
    {"http": 8080},
)
GRAFANA = Pod("observing", {"app": "agent"}, address="10.244.1.3", node="10.0.1.8")


def policies(**values: Any) -> list[Json]:
    objects = rendered(history={"enabled": True}, notifications={"enabled": True}, networkPolicy=values)
    return [one for one in objects.values() if one["kind"] == "NetworkPolicy"]


def test_peers_and_ports_are_those_that_were_said() -> None:
    found = policies(
        enabled=True,
        **{"from": CONTROL_PLANE},
        metricsFrom=[{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "observing"}}}],
        dns={"to": [], "ports": [53, 5353]},
        apiserver={"to": CONTROL_PLANE, "ports": [16443]},
        history={"to": [{"ipBlock": {"cidr": "203.0.113.9/32"}}], "ports": [6432]},
        notifications={"ports": [8443], "to": []},
    )
    leaves = {
        number: [host for host in (APISERVER, OUTSIDE) if allows(found, CONTROLLER, host, Port(number))]
        for number in (16443, 6443, 443, 6432, 5432, 8443)
    }
    assert leaves == {16443: [APISERVER], 6443: [], 443: [], 6432: [OUTSIDE], 5432: [], 8443: [APISERVER, OUTSIDE]}
    assert all(allows(found, CONTROLLER, OUTSIDE, Port(5353, protocol)) for protocol in ("UDP", "TCP"))
    comes = [one for one in (APISERVER, OUTSIDE, GRAFANA) if allows(found, one, CONTROLLER, Port(8443))]
    scrapes = [one for one in (APISERVER, OUTSIDE, GRAFANA) if allows(found, one, CONTROLLER, Port(8080))]
    assert (comes, scrapes) == ([APISERVER], [GRAFANA])


def test_with_nobody_to_scrape_only_the_kubelet_asks() -> None:
    found = policies(enabled=True, metricsFrom=[])
    assert not allows(found, GRAFANA, CONTROLLER, Port(8080))
    assert allows(found, Host(CONTROLLER.node), CONTROLLER, Port(8080))
    notes = renderer.helm(CHART, {"networkPolicy": {"enabled": True, "metricsFrom": []}})[
        "penstock/templates/NOTES.txt"
    ]
    assert "nobody may scrape metrics, since networkPolicy.metricsFrom is empty" in notes


def test_what_is_not_enabled_has_no_way_out() -> None:
    names = [name for name in rendered(networkPolicy={"enabled": True}) if " NetworkPolicy " in name]
    assert not [name for name in names if name.endswith(("penstock-history", "penstock-notifications"))]


ELSEWHERE: Json = {"to": CONTROL_PLANE, "ports": [1]}


@pytest.mark.parametrize("name", sorted(set(VALUES) - {"enabled"}))
def test_a_value_without_a_policy_is_refused_with_the_reason(name: str) -> None:
    given = ELSEWHERE if isinstance(VALUES[name], dict) else CONTROL_PLANE
    told = (
        f"networkPolicy.{name} has no effect without a NetworkPolicy: "
        f"set networkPolicy.enabled=true, or remove networkPolicy.{name}"
    )
    with pytest.raises(renderer.RenderError, match=told):
        rendered(networkPolicy={name: given}, history={"enabled": True}, notifications={"enabled": True})


@pytest.mark.parametrize("name", ["history", "notifications"])
def test_a_destination_of_nobody_is_refused_with_the_reason(name: str) -> None:
    told = rf"networkPolicy.{name} has no effect without .*: set {name}.enabled=true, or remove networkPolicy.{name}"
    with pytest.raises(renderer.RenderError, match=told):
        rendered(networkPolicy={"enabled": True, name: ELSEWHERE})
    beside: dict[str, Any] = {name: {"enabled": True}}
    assert rendered(networkPolicy={"enabled": True, name: ELSEWHERE}, **beside)


def test_the_usual_values_may_be_written_out() -> None:
    assert json.dumps(rendered(networkPolicy=VALUES)) == json.dumps(rendered())


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({"dns": {"to": [], "ports": []}}, "at '/networkPolicy/dns/ports': minItems: got 0, want 1"),
        ({"apiserver": {"ports": [0]}}, "at '/networkPolicy/apiserver/ports/0': minimum: got 0, want 1"),
        ({"metricsFrom": [{}]}, "at '/networkPolicy/metricsFrom/0': minProperties: got 0, want 1"),
        ({"from": [{"ipblock": {}}]}, "at '/networkPolicy/from/0': additional properties 'ipblock' not allowed"),
    ],
)
def test_a_rule_that_would_allow_more_is_refused(values: Json, fault: str) -> None:
    with pytest.raises(renderer.RenderError) as caught:
        rendered(networkPolicy={"enabled": True, **values})
    assert fault in str(caught.value)

"""promtool of Prometheus: whether alerts fire, by its own rule tests. Built once, as a Go module."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.support import go_programs

Json = dict[str, Any]
ALERTS = Path(__file__).parents[2] / "config" / "components" / "monitoring" / "alerts.yaml"
_MODULE = Path(__file__).parent / "prometheus"
_SECONDS = 60


def ensure() -> Path:
    """The program, built if this version of it never was; that takes some minutes."""
    return go_programs.ensure(_MODULE, "promtool", "github.com/prometheus/prometheus/cmd/promtool")


def alerts() -> dict[str, Json]:
    """Our alerts by name, as the PrometheusRule has them."""
    groups = yaml.safe_load(ALERTS.read_text())["spec"]["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


def trouble(series: Mapping[str, str], expected: Mapping[str, Sequence[Json]], at: str) -> str:
    """Say where our alerts are not as expected at a time (such as 20m); empty: they are.

    `series`: values by metric, a minute apart, in promtool's notation. `expected`: what fires by alert, each as its
    labels; no other alert may fire.
    """
    rules = alerts()
    tests = [
        {
            "eval_time": at,
            "alertname": name,
            "exp_alerts": [_fires(rules[name], labels) for labels in expected.get(name, ())],
        }
        for name in rules
    ]
    inputs = [{"series": name, "values": values} for name, values in series.items()]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "rules.yaml").write_text(yaml.safe_dump(yaml.safe_load(ALERTS.read_text())["spec"]))
        document = {"rule_files": ["rules.yaml"], "tests": [{"input_series": inputs, "alert_rule_test": tests}]}
        (Path(folder) / "test.yaml").write_text(yaml.safe_dump(document))
        return _run(folder, "test", "rules", "test.yaml")


def firing(series: Mapping[str, str], at: str) -> set[str]:
    """Which of our alerts fire at a time; `series` as above."""
    return set(re.findall(r"alertname: (\w+)", trouble(series, {}, at)))


def unreadable(queries: Sequence[str]) -> str:
    """Say what promtool cannot read of these queries of boards; empty: it reads all."""
    rules = [
        {"record": f"query:{number}", "expr": query.replace("$__rate_interval", "5m").replace("$", "")}
        for number, query in enumerate(queries)
    ]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}))
        return _run(folder, "check", "rules", "rules.yaml")


def _run(folder: str, *arguments: str) -> str:
    done = subprocess.run(
        [ensure(), *arguments], cwd=folder, capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


def _fires(rule: Json, labels: Json) -> Json:
    given = dict(labels)
    value = given.pop("value", "")
    texts = {key: _filled(text, given, value) for key, text in rule["annotations"].items()}
    return {"exp_labels": {**rule["labels"], **given}, "exp_annotations": texts}


def _filled(text: str, labels: Json, value: str) -> str:
    for key, one in labels.items():
        text = text.replace("{{ $labels." + key + " }}", one)
    return re.sub(r"{{ \$value .*?}}", value, text)


if __name__ == "__main__":
    ensure()

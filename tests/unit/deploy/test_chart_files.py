"""The chart's files: written anew from config/ when that changes, and each value said once, described and bounded."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy import generate

CHART = generate.ROOT / "deploy" / "chart"
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
FOR_HELM = {"global"}
"""In the schema for Helm's sake, not for users."""
OF_TWO = {"cert-manager", "network-policy-history", "network-policy-notifications", "provided-certificate"}
"""Components that other values ask for, each of which is off."""


def test_the_committed_templates_are_those_of_config() -> None:
    folder = generate.DESTINATION
    committed = {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.yaml")}
    rendered = generate.render()

    stale = sorted(name for name in committed.keys() | rendered.keys() if committed.get(name) != rendered.get(name))

    assert not stale, f"the chart differs from config/ in {', '.join(stale)}: run `make generate`"


def test_generating_removes_what_no_file_stands_for(tmp_path: Path) -> None:
    (tmp_path / "rbac").mkdir()
    (tmp_path / "rbac" / "old.yaml").write_text("{}")

    written = generate.write(tmp_path)

    assert sorted(tmp_path.rglob("*.yaml")) == sorted(written)


def test_braces_in_config_stay_text(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(generate, "CONFIG", tmp_path)
    (tmp_path / "components").mkdir()
    (tmp_path / "crd").mkdir()
    (tmp_path / "crd" / "kind.yaml").write_text('\nmetadata:\n  name: "{{ x }}"\n')

    assert '"{{ "{{" }} x }}"' in generate.render()["crd/kind.yaml"]


@pytest.fixture
def manifests(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A small config/ to spoil."""
    monkeypatch.setattr(generate, "CONFIG", tmp_path)
    (tmp_path / "server").mkdir()
    (tmp_path / "components" / "new").mkdir(parents=True)
    source = generate.ROOT / "config" / "server" / "webhook.yaml"
    (tmp_path / "server" / "webhook.yaml").write_text(source.read_text())
    return tmp_path


def component(config: Path, operation: str) -> None:
    patch = {"target": {"kind": "Deployment", "name": "penstock-webhook"}, "patch": operation}
    (config / "components" / "new" / "kustomization.yaml").write_text(yaml.safe_dump({"patches": [patch]}))


def test_a_new_component_adds_its_argument_when_it_is_asked_for(manifests: Path) -> None:
    component(manifests, "[{op: add, path: /spec/template/spec/containers/0/args/-, value: --new}]")

    text = generate.render()["server/webhook.yaml"]

    assert "{{- if .Values.new.enabled }}\n            - --new\n{{- end }}\n" in text


@pytest.mark.parametrize(
    "operation", ["remove, path: /spec/replicas", "add, path: /spec/template/spec/containers/0/env"]
)
def test_a_patch_that_the_chart_cannot_follow_is_named(manifests: Path, operation: str) -> None:
    component(manifests, f"[{{op: {operation}}}]")

    told = operation.replace(", path:", "")
    with pytest.raises(generate.GenerateError, match=rf"new/kustomization.yaml: {told}: the chart can"):
        generate.render()


def test_a_place_for_a_value_that_is_gone_is_named(manifests: Path) -> None:
    component(manifests, "[]")
    file = manifests / "server" / "webhook.yaml"
    file.write_text(file.read_text().replace("  replicas: 2\n", ""))

    with pytest.raises(generate.GenerateError, match=r"config/server/webhook.yaml: .*replicas.* 0 times"):
        generate.render()


def test_every_component_is_off_until_asked_for() -> None:
    asked_for = {
        name: generate.condition(name).removeprefix(".Values.").removesuffix(".enabled")
        for name in generate.components()
        if generate.condition(name).startswith(".")
    }

    assert asked_for.keys() | OF_TWO == set(generate.components())
    assert {name: VALUES.get(value, {}).get("enabled") for name, value in asked_for.items()} == dict.fromkeys(
        asked_for, False
    )
    assert VALUES["certificate"]["source"] == "generated"


def test_chart_and_project_have_one_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = tomllib.loads((generate.ROOT / "pyproject.toml").read_text())["project"]

    assert {chart["version"], chart["appVersion"]} == {project["version"]}
    assert chart["description"] == project["description"]


def paths(values: dict[str, Any], schema: dict[str, Any], where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every value that the schema knows by name, with its part of the schema; the two must name the same."""
    assert set(values) == set(schema["properties"]) - FOR_HELM, where or "the top"
    assert schema["additionalProperties"] is False, where or "the top"
    for name, part in schema["properties"].items():
        yield f"{where}/{name}", part
        if "properties" in part:
            yield from paths(values[name], part, f"{where}/{name}")


def test_values_and_schema_name_the_same_and_no_more() -> None:
    assert len(dict(paths(VALUES, SCHEMA))) > len(SCHEMA["properties"])


def test_the_schema_describes_every_value() -> None:
    bare = [path for path, part in paths(VALUES, SCHEMA) if not part.get("description") and "$ref" not in part]

    assert not bare


def test_no_variable_is_accepted_that_an_argument_wins_over() -> None:
    refused = re.compile(SCHEMA["$defs"]["env"]["items"]["properties"]["name"]["not"]["pattern"])
    for file in ("manager/controller.yaml", "server/webhook.yaml"):
        text = (generate.ROOT / "config" / file).read_text()
        options = [option for option in re.findall(r"^ +- --([a-z-]+)=", text, re.MULTILINE) if "tls" not in option]
        names = [f"PENSTOCK_{option.upper().replace('-', '_')}" for option in options]
        assert len(names) > 3
        assert [name for name in names if not refused.search(name)] == []
    assert refused.search("PENSTOCK_WORKERS") is None


def test_every_value_is_read_by_a_template() -> None:
    text = "".join(file.read_text() for file in (CHART / "templates").rglob("*") if file.is_file())
    leaves = [path for path, part in paths(VALUES, SCHEMA) if "properties" not in part and path != "/global"]

    assert [leaf for leaf in leaves if f".Values{leaf.replace('/', '.')}" not in text] == []

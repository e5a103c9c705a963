"""Which resources quota counts, from Kueue's own configuration file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from controller.cli.main import root
from controller.objects.quota_resources import read
from tests.support.kueue_objects import kueue_flavor, kueue_group, kueue_queue, kueue_quota

RESOURCES = {
    "transformations": [
        {"input": "nvidia.com/mig-1g.5gb", "strategy": "Replace", "outputs": {"example.com/gpu-memory": "5Gi"}}
    ],
    "excludeResourcePrefixes": ["vendor.example.com/"],
}


def configuration(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", **fields}


def convert(*documents: Any, options: tuple[str, ...] = ()) -> Result:
    text = yaml.safe_dump_all(documents)
    return CliRunner().invoke(root, ["import", "kueue", "-f", "-", *options], input=text)


def test_resources_become_the_file_of_the_controller(tmp_path: Path) -> None:
    result = convert(configuration(resources=RESOURCES, waitForPodsReady={"enable": True}))
    assert result.exit_code == 0, result.stderr
    (made,) = yaml.safe_load_all(result.stdout)
    assert made["kind"] == "ConfigMap"
    assert made["metadata"] == {"name": "penstock-quota-resources", "namespace": "penstock-system"}
    file = tmp_path / "resources.yaml"
    file.write_text(made["data"]["resources.yaml"])
    assert read(file).needs_no_quota("nvidia.com/mig-1g.5gb")
    assert yaml.safe_load(file.read_text()) == RESOURCES
    assert "waitForPodsReady: not read; only resources are" in result.stderr
    assert "a change counts after a restart" in result.stderr


def test_a_configuration_without_resources_makes_nothing() -> None:
    result = convert(configuration(integrations={"frameworks": ["pod"]}), kueue_flavor("spot"))
    assert result.exit_code == 0, result.stderr
    assert "ConfigMap" not in result.stdout
    assert "restart" not in result.stderr


def test_a_quota_that_kueue_ignored_is_told() -> None:
    group = kueue_group(("spot", [kueue_quota(name, 8) for name in ("cpu", "vendor.example.com/nic", "pods")]))
    result = convert(configuration(resources=RESOURCES), kueue_flavor("spot"), kueue_queue("team-a", group))
    assert result.exit_code == 0, result.stderr
    assert "ClusterQueue team-a: vendor.example.com/nic: Kueue left it out of this quota" in result.stderr
    assert "team-a: pods: Kueue" not in result.stderr


def test_what_penstock_does_not_have_is_a_loss() -> None:
    written = configuration(resources={**RESOURCES, "quotaCheckStrategy": "IgnoreUndeclared"})
    refused = convert(written)
    assert refused.exit_code == 1
    assert "document 1: resources.quotaCheckStrategy: is left out" in refused.stderr
    assert convert(written, options=("--partial",)).exit_code == 0


@pytest.mark.parametrize(
    ("documents", "fault"),
    [
        ([configuration(resources=[])], "document 1: resources: must be an object, is a list"),
        (
            [configuration(resources={"transformations": [{"input": "a/b", "outputs": {"cpu": 1}}]})],
            "document 1: resources: transformations[0].outputs.cpu: 1: must be a resource that no node has",
        ),
        ([configuration(), configuration()], "document 1 and -: document 2: two configurations of Kueue"),
    ],
)
def test_a_fault_of_the_configuration_is_told(documents: list[Any], fault: str) -> None:
    result = convert(*documents)
    assert result.exit_code == 1
    assert fault in result.stderr.replace("<stdin>", "-")


def test_mappings_of_device_classes_are_taken_over() -> None:
    mapping = {"name": "example.com/gpu", "deviceClassNames": ["gpu.example.com"]}
    counted = {
        **mapping,
        "name": "example.com/slice",
        "deviceClassNames": ["mig.example.com"],
        "sources": [{"counter": {}}],
    }
    result = convert(configuration(resources={"deviceClassMappings": [mapping]}))
    assert result.exit_code == 0, result.stderr
    (made,) = yaml.safe_load_all(result.stdout)
    assert yaml.safe_load(made["data"]["resources.yaml"]) == {"deviceClassMappings": [mapping]}
    refused = convert(configuration(resources={"deviceClassMappings": [mapping, counted]}))
    assert refused.exit_code == 1
    assert "resources.deviceClassMappings[1].sources: is left out" in refused.stderr

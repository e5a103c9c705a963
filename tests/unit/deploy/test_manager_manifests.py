"""The Deployments of config/ say what the programs understand, and what the rest of config/ relies on."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from click import NoSuchOption

from controller.kube.manifests import load_documents
from controller.sandbox import features
from tests.support.deployments import container_of, options_of

ROOT = Path(__file__).resolve().parents[3]
DEPLOYMENTS = {
    one["metadata"]["name"]: one
    for folder in ("manager", "server")
    for one in load_documents(ROOT / "config" / folder)
    if one["kind"] == "Deployment"
}
BOTH = pytest.mark.parametrize("name", ["penstock-controller", "penstock-webhook"])


def port(deployment: dict[str, Any], name: str) -> int:
    return next(int(one["containerPort"]) for one in container_of(deployment)["ports"] if one["name"] == name)


@BOTH
def test_the_program_takes_every_argument_it_is_started_with(name: str) -> None:
    assert options_of(DEPLOYMENTS[name])


def test_an_argument_that_a_program_does_not_know_would_be_seen() -> None:
    container = {"command": ["python", "-m", "webhook"], "args": ["--tls-cert=a", "--tls-key=b", "--nope"]}
    deployment = {"spec": {"template": {"spec": {"containers": [container]}}}}

    with pytest.raises(NoSuchOption):
        options_of(deployment)


@BOTH
def test_kubelets_ask_where_the_program_listens_for_them(name: str) -> None:
    container = container_of(DEPLOYMENTS[name])
    address = options_of(DEPLOYMENTS[name])["http_address"]

    # all addresses of the pod, of both families
    assert (address.host, address.port) == ("", port(DEPLOYMENTS[name], "http"))
    probes = {kind: container[kind]["httpGet"] for kind in ("livenessProbe", "readinessProbe")}
    assert probes["livenessProbe"] == {"path": "/healthz", "port": "http"}
    assert probes["readinessProbe"] == {"path": "/readyz", "port": "http"}


def test_the_service_leads_to_where_reviews_are_answered() -> None:
    (service,) = [one for one in load_documents(ROOT / "config/server") if one["kind"] == "Service"]
    webhook = DEPLOYMENTS["penstock-webhook"]

    (door,) = service["spec"]["ports"]
    assert options_of(webhook)["address"].port == port(webhook, door["targetPort"])
    assert service["spec"]["selector"].items() <= webhook["spec"]["template"]["metadata"]["labels"].items()


def test_a_certificate_is_read_from_where_it_is_mounted() -> None:
    webhook = DEPLOYMENTS["penstock-webhook"]
    mounts = {mount["name"]: Path(mount["mountPath"]) for mount in container_of(webhook)["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in webhook["spec"]["template"]["spec"]["volumes"]}
    files = {mounts["tls"] / item["path"] for item in volumes["tls"]["secret"]["items"]}

    assert set(mounts) == set(volumes)
    assert volumes["tls"]["secret"]["optional"]
    assert {options_of(webhook)["tls_cert"], options_of(webhook)["tls_key"]} == {None}
    component = ROOT / "config" / "components" / "provided-certificate"
    certificate, key, optional = [one["value"] for one in features.patched(component, "penstock-webhook")]
    assert {certificate.removeprefix("--tls-cert="), key.removeprefix("--tls-key=")} == {str(file) for file in files}
    assert optional is False
    (argument,) = features.webhook_arguments(["client-certificates"])
    assert argument == f"--client-ca-file={mounts['client-ca'] / 'ca.crt'}"
    assert volumes["client-ca"]["configMap"] == {"name": "penstock-webhook-client-ca", "optional": True}


@pytest.mark.parametrize(
    ("component", "file", "source"),
    [
        ("notifications", "notifications.yaml", {"secret": {"secretName": "penstock-notifications", "optional": True}}),
        ("quota-resources", "resources.yaml", {"configMap": {"name": "penstock-quota-resources", "optional": True}}),
    ],
)
def test_a_file_is_read_from_where_it_is_mounted(component: str, file: str, source: dict[str, Any]) -> None:
    controller = DEPLOYMENTS["penstock-controller"]
    mounts = {one["name"]: one["mountPath"] for one in container_of(controller)["volumeMounts"]}
    volumes = {one["name"]: one for one in controller["spec"]["template"]["spec"]["volumes"]}
    (operation,) = features.patched(ROOT / "config" / "components" / component, "penstock-controller")

    assert set(mounts) == set(volumes)
    assert volumes[component] == {"name": component, **source}
    assert operation["value"] == f"--{component}={mounts[component]}/{file}"


@BOTH
def test_the_program_runs_as_the_account_that_has_its_rights(name: str) -> None:
    accounts = {one["metadata"]["name"] for one in load_documents(ROOT / "config/rbac") if "Account" in one["kind"]}

    assert DEPLOYMENTS[name]["spec"]["template"]["spec"]["serviceAccountName"] == name
    assert name in accounts


@BOTH
def test_the_image_is_of_this_version(name: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert container_of(DEPLOYMENTS[name])["image"] == f"penstock:{project['version']}"

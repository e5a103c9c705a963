"""The chart against config/: what Helm renders is what kustomize builds, whatever is switched on."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.core.forecasts.forecast import USUAL_DEPTH
from tests.integration.chart.comparing import (
    BESIDE,
    CHART,
    GATES,
    PEM,
    REGISTRATIONS,
    ROOT,
    TOGETHER,
    VALUES,
    Json,
    built,
    by_name,
    rendered,
    without_what_helm_adds,
)
from tests.support import renderer
from tests.support.deployments import container_of, options_of

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(
    ("gate", "components"),
    [
        *((gate, components) for gate in GATES for components in ((), TOGETHER)),
        *(("Policies", (*BESIDE.get(name, ()), name)) for name in VALUES),
    ],
    ids=lambda part: part if isinstance(part, str) else "+".join(part) or "nothing",
)
def test_the_chart_is_what_kustomize_builds(tmp_path: Path, gate: str, components: tuple[str, ...]) -> None:
    values = {key: value for name in components for key, value in VALUES[name].items()}

    ours = without_what_helm_adds(rendered(gate={"mode": gate}, **values))
    theirs = built(tmp_path.resolve(), gate, *components)
    if "v1 Service penstock-system/penstock-webhook" not in theirs:
        # without a server the chart asks for no certificate
        theirs = {name: one for name, one in theirs.items() if one["kind"] not in ("Certificate", "Issuer")}

    assert sorted(ours) == sorted(theirs)
    # Components add arguments in the order in which they are named, and an option's place says nothing.
    for one in (*ours.values(), *theirs.values()):
        if one["kind"] == "Deployment":
            one["spec"]["template"]["spec"]["containers"][0]["args"].sort()
    for name, one in ours.items():
        assert one == theirs[name], name


@pytest.fixture
def documented(tmp_path: Path) -> list[Json]:
    """The kustomizations that docs/install.md shows, with their commented lines switched on, for `tmp_path`."""
    text = (ROOT / "docs" / "install.md").read_text().replace("  # - penstock/", "  - penstock/")
    config = os.path.relpath(ROOT / "config", tmp_path.resolve())
    blocks = [block.partition("```")[0] for block in text.split("```yaml\n")[1:]]
    return [yaml.safe_load(block.replace("penstock/config", config)) for block in blocks]


def without(kustomization: Json, component: str) -> Json:
    """Of the two last components the document names, one or the other is meant."""
    kept = [one for one in kustomization["components"] if not one.endswith(f"/{component}")]
    assert len(kept) == len(kustomization["components"]) - 1
    return {**kustomization, "components": kept}


def test_the_documented_kustomization_builds(tmp_path: Path, documented: list[Json]) -> None:
    kustomization = without(documented[0], "provided-certificate")
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))

    objects = by_name(renderer.kustomize(tmp_path.resolve()))

    for name in ("penstock-controller", "penstock-webhook"):
        image = container_of(objects[f"apps/v1 Deployment penstock-system/{name}"])["image"]
        assert image == "registry.example.com/penstock:0.2.0"
    registrations = [one for one in objects.values() if one["kind"].endswith("WebhookConfiguration")]
    assert {one["kind"] for one in registrations} == REGISTRATIONS
    for one in registrations:
        assert one["metadata"]["annotations"] == {"cert-manager.io/inject-ca-from": "penstock-system/penstock-webhook"}


def test_ones_own_certificate_reaches_every_registration(tmp_path: Path, documented: list[Json]) -> None:
    kustomization = without({**documented[0], **documented[1]}, "cert-manager")
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    for name in ("ca.crt", "tls.crt", "tls.key"):
        (tmp_path / name).write_text(f"text of {name}\n" * 20)

    objects = by_name(renderer.kustomize(tmp_path.resolve()))

    secret = objects["v1 Secret penstock-system/penstock-webhook-tls"]
    assert set(secret["data"]) == {"ca.crt", "tls.crt", "tls.key"}
    trusted = [entry["clientConfig"]["caBundle"] for one in objects.values() for entry in one.get("webhooks", ())]
    assert {base64.b64decode(one) for one in trusted} == {(tmp_path / "ca.crt").read_bytes()}


@pytest.mark.parametrize(
    ("kubernetes", "mode"), [("v1.35.9-gke.100", "Webhook"), ("v1.36.0-rc.1", "Policies"), ("v1.37.2", "Policies")]
)
def test_from_kubernetes_1_36_the_gate_is_the_apiservers(kubernetes: str, mode: str) -> None:
    assert sorted(rendered(kubernetes)) == sorted(rendered(kubernetes, gate={"mode": mode}))


@pytest.mark.parametrize("feature", ["runtime-class", "pod-policies", "scheduling-policies"])
def test_the_webhook_runs_for_features_or_for_the_gate(feature: str) -> None:
    server = {"apps/v1 Deployment penstock-system/penstock-webhook", "v1 Secret penstock-system/penstock-webhook-ca"}

    assert not server & set(rendered(gate={"mode": "Policies"}))
    assert server <= set(rendered(gate={"mode": "Policies"}, **VALUES[feature]))
    assert server <= set(rendered(gate={"mode": "Webhook"}))


FEATURES = tuple(name for name in TOGETHER if name != "cert-manager")


@pytest.mark.parametrize(
    ("resources", "components"),
    [
        (("default",), ()),
        (("default", "server"), ("pod-policies",)),
        (("default", "server"), FEATURES),
        (("default-webhook",), ()),
        (("default-webhook", "policy"), TOGETHER),
    ],
    ids="+".join,
)
def test_another_break_glass_group_reaches_every_rule(
    tmp_path: Path, documented: list[Json], resources: tuple[str, ...], components: tuple[str, ...]
) -> None:
    folder = tmp_path.resolve()
    kustomization = {
        "resources": [os.path.relpath(ROOT / "config" / name, folder) for name in resources],
        "components": [os.path.relpath(ROOT / "config" / "components" / name, folder) for name in components],
    }
    recipe = next(one for one in documented if "configMapGenerator" in one)
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    before = json.dumps(renderer.kustomize(folder))
    (folder / "kustomization.yaml").write_text(yaml.safe_dump({**kustomization, **recipe}))
    after = renderer.kustomize(folder)

    assert "penstock:break-glass" in before
    assert json.dumps(after) == before.replace("penstock:break-glass", "on-call")
    if "default-webhook" in resources or "server" in resources:
        webhook = by_name(after)["apps/v1 Deployment penstock-system/penstock-webhook"]
        assert options_of(webhook)["break_glass_group"] == "on-call"


def test_the_charts_break_glass_group_reaches_every_rule() -> None:
    everything = {key: value for name in VALUES for key, value in VALUES[name].items()}
    objects = rendered(gate={"mode": "Both"}, breakGlassGroup="on-call", **everything)

    assert "penstock:break-glass" not in json.dumps(list(objects.values()))


def test_every_component_is_compared() -> None:
    assert set(VALUES) == {folder.name for folder in (ROOT / "config" / "components").iterdir() if folder.is_dir()}


def test_every_feature_reaches_the_webhook_as_an_option() -> None:
    objects = rendered(
        runtimeClass={"enabled": True, "default": "kata.v2-a"}, podPolicies={"enabled": True}, logLevel="debug"
    )
    options = options_of(objects["apps/v1 Deployment penstock-system/penstock-webhook"])

    assert (options["runtime_classes"], options["default_runtime_class"]) == (True, "kata.v2-a")
    assert options["pod_policies"] is True
    assert options["log_level"] == "debug"
    assert options_of(objects["apps/v1 Deployment penstock-system/penstock-controller"])["log_level"] == "debug"


def test_the_backfill_depth_is_no_option_until_it_is_set() -> None:
    name = "apps/v1 Deployment penstock-system/penstock-controller"

    assert options_of(rendered()[name])["backfill_depth"] == USUAL_DEPTH
    assert options_of(rendered(controller={"backfillDepth": 9})[name])["backfill_depth"] == 9


def test_template_controllers_are_named_to_the_webhook() -> None:
    operators = ["system:serviceaccount:argo-rollouts:argo-rollouts", 'o="oper: ator" #1']
    objects = rendered(gate={"mode": "Webhook"}, webhook={"templateControllers": operators})

    options = options_of(objects["apps/v1 Deployment penstock-system/penstock-webhook"])
    assert options["template_controller"] == tuple(operators)


def test_names_of_clients_need_their_certificates() -> None:
    names = ["kube-apiserver", "apiserver.test"]
    objects = rendered(gate={"mode": "Webhook"}, clientCertificates={"enabled": True}, webhook={"clientNames": names})
    options = options_of(objects["apps/v1 Deployment penstock-system/penstock-webhook"])
    assert options["client_name"] == tuple(names)
    assert str(options["client_ca_file"]) == "/etc/penstock/client-ca/ca.crt"
    with pytest.raises(renderer.RenderError, match="clientCertificates"):
        rendered(gate={"mode": "Webhook"}, webhook={"clientNames": names})


def test_another_namespace_leaves_nothing_in_the_usual_one() -> None:
    everything = {key: value for name in VALUES for key, value in VALUES[name].items()}
    templates = renderer.helm(CHART, everything, namespace="12345")
    objects = renderer.objects(templates)

    assert "penstock-system" not in json.dumps(objects)
    elsewhere = [one for one in objects if one["metadata"].get("namespace", "12345") != "12345"]
    names = {one["metadata"]["name"] for one in elsewhere}
    assert names == {"sp:kube-system-privileged", "penstock-visibility-authentication"}
    controller = by_name(objects)["apps/v1 Deployment 12345/penstock-controller"]
    assert options_of(controller)["lease_namespace"] == "12345"


def test_values_go_where_they_belong() -> None:
    toleration = {"key": "infra", "operator": "Exists"}
    objects = rendered(
        gate={"mode": "Both"},
        image={"repository": "registry.example.com/penstock", "tag": "1.2", "pullPolicy": "Always"},
        imagePullSecrets=[{"name": "registry"}],
        priorityClassName="",
        controller={"replicas": 3, "resources": {"limits": {"memory": "4Gi"}}},
        webhook={
            "replicas": 5,
            "nodeSelector": {"pool": "infra"},
            "tolerations": [toleration],
            "failurePolicy": "Fail",
            "excludedNamespaces": ["kube-system", "build"],
        },
        podPolicies={"enabled": True},
    )
    controller = objects["apps/v1 Deployment penstock-system/penstock-controller"]["spec"]
    webhook = objects["apps/v1 Deployment penstock-system/penstock-webhook"]["spec"]

    assert (controller["replicas"], webhook["replicas"]) == (3, 5)
    for spec in (controller, webhook):
        assert spec["template"]["spec"]["imagePullSecrets"] == [{"name": "registry"}]
        assert "priorityClassName" not in spec["template"]["spec"]
        container = container_of({"spec": spec})
        assert (container["image"], container["imagePullPolicy"]) == ("registry.example.com/penstock:1.2", "Always")
    assert container_of({"spec": controller})["resources"]["limits"] == {"memory": "4Gi"}
    assert webhook["template"]["spec"]["nodeSelector"] == {"pool": "infra"}
    assert webhook["template"]["spec"]["tolerations"] == [toleration]
    assert "v1 ResourceQuota penstock-system/penstock-critical-pods" not in objects
    entries = [entry for one in objects.values() for entry in one.get("webhooks", ())]
    assert {"queued-pods.penstock.dev", "pod-policies.penstock.dev"} <= {entry["name"] for entry in entries}
    for entry in entries:
        assert entry["failurePolicy"] == "Fail"
        (names,) = [
            one["values"]
            for one in entry["namespaceSelector"]["matchExpressions"]
            if one["key"] == "kubernetes.io/metadata.name"
        ]
        assert names == ["kube-system", "build", "penstock-system"]


def test_warnings_leave_out_the_same_namespaces_and_only_warn() -> None:
    objects = rendered(webhook={"failurePolicy": "Fail", "excludedNamespaces": ["build"]})
    spec = objects["admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy /penstock-queue-label"]["spec"]

    assert spec["failurePolicy"] == "Ignore"
    (left_out,) = spec["matchConstraints"]["namespaceSelector"]["matchExpressions"]
    assert left_out["values"] == ["build", "penstock-system"]


def test_a_digest_goes_before_the_tag() -> None:
    digest = "sha256:" + "a" * 64
    objects = rendered(image={"tag": "1.2", "digest": digest})

    image = container_of(objects["apps/v1 Deployment penstock-system/penstock-controller"])["image"]
    assert image == f"penstock@{digest}"


def test_without_crds_there_are_none() -> None:
    assert not [one for one in rendered(crds={"enabled": False}).values() if one["kind"].startswith("CustomRes")]


@pytest.mark.parametrize("source", ["generated", "provided-certificate", "cert-manager"])
def test_rights_for_a_certificate_are_there_for_its_own_alone(source: str) -> None:
    objects = rendered(gate={"mode": "Both"}, **VALUES.get(source, {}))
    kinds = {one["kind"] for one in objects.values() if one["metadata"]["name"] == "penstock-webhook-certificate"}
    if source == "generated":
        assert kinds == {"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}
        assert "data" not in objects["v1 Secret penstock-system/penstock-webhook-ca"]
        trusted = [one["clientConfig"] for entry in objects.values() for one in entry.get("webhooks", ())]
        assert not [one for one in trusted if "caBundle" in one]
    else:
        assert kinds == set()
        assert "v1 Secret penstock-system/penstock-webhook-ca" not in objects


def test_a_provided_certificate_is_trusted_and_no_other_made() -> None:
    objects = rendered(gate={"mode": "Webhook"}, **VALUES["provided-certificate"])

    assert not [one for one in objects.values() if one["kind"] == "Secret"]
    entries = objects["admissionregistration.k8s.io/v1 MutatingWebhookConfiguration /penstock"]["webhooks"]
    trusted = {one["clientConfig"]["caBundle"] for one in entries}
    assert trusted == {base64.b64encode(PEM.encode()).decode()}


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({"replicas": 3}, "at '': additional properties 'replicas' not allowed"),
        ({"webhook": {"replica": 3}}, "at '/webhook': additional properties 'replica' not allowed"),
        ({"controller": {"replicas": "2"}}, "at '/controller/replicas': got string, want integer"),
        ({"controller": {"backfillDepth": 0}}, "at '/controller/backfillDepth': minimum: got 0, want 1"),
        ({"controller": {"backfillDepth": 65}}, "at '/controller/backfillDepth': maximum: got 65, want 64"),
        ({"webhook": {"replicas": 0}}, "at '/webhook/replicas': minimum: got 0, want 1"),
        ({"webhook": {"failurePolicy": "Retry"}}, "at '/webhook/failurePolicy': value must be one of 'Ignore', 'Fail'"),
        ({"webhook": {"excludedNamespaces": ["A"]}}, "at '/webhook/excludedNamespaces/0': 'A' does not match pattern"),
        ({"webhook": {"templateControllers": [""]}}, "at '/webhook/templateControllers/0': minLength: got 0, want 1"),
        ({"webhook": {"templateControllers": "argo"}}, "at '/webhook/templateControllers': got string, want array"),
        ({"logLevel": "loud"}, "at '/logLevel': value must be one of"),
        ({"runtimeClass": {"default": "kata"}}, "at '/runtimeClass/enabled': value must be true"),
        ({"runtimeClass": {"enabled": True, "default": "Kata"}}, "at '/runtimeClass/default': 'Kata' does not match"),
        ({"certificate": {"source": "provided"}}, "at '/certificate/caBundle': minLength: got 0, want 1"),
        ({"certificate": {"caBundle": "-----BEGIN CERTIFICATE-----\nMII"}}, "at '/certificate/caBundle': maxLength"),
        ({"controller": {"resources": {"request": {}}}}, "at '/controller/resources': additional properties 'request'"),
    ],
)
def test_a_wrong_value_is_refused_with_its_path(values: Json, fault: str) -> None:
    with pytest.raises(renderer.RenderError) as caught:
        renderer.helm(CHART, values)

    assert fault in str(caught.value)


def test_the_break_glass_group_has_one_name_everywhere() -> None:
    objects = rendered(breakGlassGroup="fire:brigade", gate={"mode": "Both"})

    assert "penstock:break-glass" not in yaml.safe_dump_all(objects.values())
    webhook = objects["apps/v1 Deployment penstock-system/penstock-webhook"]
    assert options_of(webhook)["break_glass_group"] == "fire:brigade"
    registered = objects["admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration /penstock"]
    left_out = [one for entry in registered["webhooks"] for one in entry["matchConditions"] if "brigade" in str(one)]
    assert len(left_out) == len(registered["webhooks"])


def test_pods_get_what_values_say_beside_what_penstock_needs() -> None:
    own: Json = {
        "affinity": {"podAntiAffinity": {}},
        "podLabels": {"team": "infra"},
        "podAnnotations": {"example.com/a": "1"},
        "env": [{"name": "TZ", "value": "UTC"}],
    }
    values: dict[str, Any] = {
        name: {**own, "extraArgs": ["--log-level=debug"]} for name in ("controller", "webhook", "dashboard")
    }
    values["controller"] |= {"leaseSeconds": 30, "extraArgs": ["--workers=64"]}
    values["dashboard"] |= {"enabled": True, "extraArgs": []}
    objects = rendered(gate={"mode": "Both"}, visibility={"enabled": True}, history={"enabled": True}, **values)
    for name in values:
        template = objects[f"apps/v1 Deployment penstock-system/penstock-{name}"]["spec"]["template"]
        assert template["metadata"]["labels"]["team"] == "infra"
        assert template["metadata"]["labels"]["app.kubernetes.io/name"] == f"penstock-{name}"
        assert template["metadata"]["annotations"] == {"example.com/a": "1"}
        assert template["spec"]["affinity"] == {"podAntiAffinity": {}}
        container = template["spec"]["containers"][0]
        assert container["env"][-1] == {"name": "TZ", "value": "UTC"}
        assert container["args"][-1:] == values[name]["extraArgs"] or not values[name]["extraArgs"]
    controller = objects["apps/v1 Deployment penstock-system/penstock-controller"]
    assert (options_of(controller)["lease_seconds"], options_of(controller)["workers"]) == (30, 64)
    assert len(container_of(controller)["env"]) == 4


def test_objects_are_known_by_their_release() -> None:
    for name, one in rendered(gate={"mode": "Both"}, **VALUES["monitoring"]).items():
        labels = one["metadata"]["labels"]
        assert labels["helm.sh/chart"].startswith("penstock-"), name
        assert labels["app.kubernetes.io/managed-by"] == "Helm", name
        assert labels["app.kubernetes.io/part-of"] == "penstock", name

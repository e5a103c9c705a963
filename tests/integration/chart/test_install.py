"""The rendered chart on a real apiserver: taken as it is, the same when it comes again; who is trusted stays so."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from controller.kube import clock
from controller.kube.apply import apply, delete
from controller.kube.client import Client
from controller.sandbox import Sandbox
from controller.telemetry.authority import Authority
from controller.telemetry.shared_authority import AuthoritySecret
from tests.support import renderer
from tests.support.eventually import eventually
from webhook.trust.registrations import Registrations

CHART = Path(__file__).resolve().parents[3] / "deploy" / "chart"
REGISTRATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
Json = dict[str, Any]

pytestmark = pytest.mark.integration


class Release:
    """The chart with everything on, for a cluster and a namespace in it."""

    def __init__(self, sandbox: Sandbox, client: Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace
        self._kubeconfig = sandbox.kubeconfig
        self._objects: list[Json] = []

    def render(self, **values: Any) -> list[Json]:
        """As `helm install` and `helm upgrade` render it: `lookup` sees the cluster."""
        everything = {
            "gate": {"mode": "Both"},
            "runtimeClass": {"enabled": True, "default": "kata"},
            "podPolicies": {"enabled": True},
            "history": {"enabled": True},
            "notifications": {"enabled": True},
            "networkPolicy": {"enabled": True},
            **values,
        }
        rendered = renderer.helm(CHART, everything, namespace=self.namespace, kubeconfig=self._kubeconfig)
        self._objects = renderer.objects(rendered)
        return self._objects

    async def remove(self) -> None:
        """Remove all but the CRDs, which stay for other tests as they stay when Helm uninstalls."""
        await delete(self.client, [one for one in self._objects if one["kind"] != "CustomResourceDefinition"])

    async def versions(self) -> dict[str, str]:
        """Which version each object has in the cluster."""
        paths = [f"{REGISTRATIONS}/{name}" for name in ("penstock", "penstock-runtime-class", "penstock-pod-policies")]
        # of validating policies only the bindings: type checking writes to the policies after us
        bindings = ("penstock-create", "penstock-update", "penstock-fence")
        paths += [f"{ADMISSION}/validatingadmissionpolicybindings/{name}" for name in bindings]
        paths += [f"{ADMISSION}/mutatingadmissionpolicies/penstock-gate"]
        of_ours = f"/namespaces/{self.namespace}"
        paths += [f"/api/v1{of_ours}/{kind}" for kind in ("secrets/penstock-webhook-ca", "services/penstock-webhook")]
        paths += [f"/api/v1{of_ours}/serviceaccounts/{name}" for name in ("penstock-controller", "penstock-webhook")]
        paths += [f"/apis/policy/v1{of_ours}/poddisruptionbudgets/penstock-webhook"]
        policies = ("penstock", "penstock-webhook", "penstock-visibility", "penstock-history", "penstock-notifications")
        paths += [f"/apis/networking.k8s.io/v1{of_ours}/networkpolicies/{name}" for name in policies]
        rbac = "/apis/rbac.authorization.k8s.io/v1"
        roles = ("penstock-leader-election", "penstock-webhook-certificate")
        paths += [f"{rbac}{of_ours}/{kind}/{name}" for kind in ("roles", "rolebindings") for name in roles]
        cluster_roles = ("penstock-webhook-pod-policies", "penstock-webhook-certificate", "penstock-controller")
        paths += [f"{rbac}/clusterroles/{name}" for name in cluster_roles]
        return {path: (await self.get(path))["metadata"]["uid"] + await self._fields(path) for path in paths}

    async def _fields(self, path: str) -> str:
        # status is other people's to write at any time; what was applied and when stands here
        return str(
            [entry for entry in (await self.get(path))["metadata"]["managedFields"] if entry["manager"] == "penstock"]
        )

    async def get(self, path: str) -> Json:
        found: Json = orjson.loads(await self.client.get(path))
        return found


@pytest.fixture
async def release(sandbox: Sandbox, admin: Client, namespace: str) -> AsyncIterator[Release]:
    made = Release(sandbox, admin, namespace)
    yield made
    await made.remove()


async def test_everything_is_taken_and_a_second_time_changes_nothing(release: Release) -> None:
    first = release.render()
    await apply(release.client, first)
    before = await release.versions()

    second = release.render()
    await apply(release.client, second)

    assert second == first
    assert await release.versions() == before


@pytest.mark.parametrize(("manager", "is_trusted"), [("Helm", True), ("cert-manager", False)])
async def test_only_an_authority_that_helm_made_stays_trusted(release: Release, manager: str, is_trusted: bool) -> None:
    labels = {"app.kubernetes.io/managed-by": manager}
    kept = Authority.create("before", now=clock.now(), days=10).pair.certificate_pem
    data = {"ca.crt": base64.b64encode(kept).decode()}
    secret = {"metadata": {"name": "penstock-webhook-tls", "labels": labels}, "data": data}
    await release.client.post(f"/api/v1/namespaces/{release.namespace}/secrets", secret)

    await apply(release.client, release.render())

    for entry in (await release.get(f"{REGISTRATIONS}/penstock"))["webhooks"]:
        assert entry["clientConfig"].get("caBundle") == (data["ca.crt"] if is_trusted else None)


async def test_an_upgrade_leaves_what_the_webhook_writes(release: Release) -> None:
    await apply(release.client, release.render())
    path = f"/api/v1/namespaces/{release.namespace}/secrets/penstock-webhook-ca"
    made = await AuthoritySecret(release.client, release.namespace, "penstock-webhook").read(clock.now())
    registrations = Registrations(release.client, release.namespace)
    assert await registrations.trust(made.bundle_pem) > 1
    before = (await release.get(path))["data"]

    await apply(release.client, release.render())

    assert (await release.get(path))["data"] == before
    assert await registrations.trust(made.bundle_pem) == 0


async def test_the_pods_meet_the_restricted_standard_and_the_quota(release: Release) -> None:
    standard = {"pod-security.kubernetes.io/enforce": "restricted"}
    label = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": release.namespace, "labels": standard}}
    await apply(release.client, [label])

    await apply(release.client, release.render())

    async def all_made() -> bool:
        pods = (await release.get(f"/api/v1/namespaces/{release.namespace}/pods"))["items"]
        programs = [pod["metadata"]["labels"]["app.kubernetes.io/name"] for pod in pods]
        return sorted(programs) == ["penstock-controller"] * 2 + ["penstock-webhook"] * 2

    await eventually(all_made, message="the Deployments' pods were not admitted")

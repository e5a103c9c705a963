"""What `penstock doctor` finds of the installation: each test breaks one thing on a real control plane."""

from __future__ import annotations

import base64
from typing import Any

import orjson
import pytest

from controller.cli.doctor_checks.cache import CACHE
from controller.cli.doctor_checks.crds import CRDS
from controller.cli.doctor_checks.every import CHECKS, examine
from controller.cli.doctor_checks.history import HISTORY
from controller.cli.doctor_checks.rights import RIGHTS
from controller.cli.doctor_checks.versions import VERSIONS
from controller.cli.doctor_checks.visibility import VISIBILITY
from controller.cli.doctor_checks.webhook import WEBHOOK
from controller.kube import clock, config
from controller.kube.client import JSON_PATCH, Client
from controller.kube.connection import ActingAs
from controller.telemetry.authority import Authority
from tests.integration.doctor.conftest import Doctor
from tests.support.broken import besides, without
from tests.support.clusters import Cluster
from tests.support.command import penstock
from tests.support.eventually import eventually
from tests.support.existence import until_gone
from tests.support.served_kinds import serve_our_kinds

pytestmark = pytest.mark.integration

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEPLOYMENTS = "/apis/apps/v1/namespaces/penstock-system/deployments"
SECRETS = "/api/v1/namespaces/penstock-system/secrets"
RBAC = "/apis/rbac.authorization.k8s.io/v1"


async def test_nothing_is_wrong_with_what_is_installed(cluster: Cluster) -> None:
    names = ", ".join(check.name for check in CHECKS if check not in (CACHE, HISTORY))
    unseen = (
        "the visibility API, which says how old what the controller knows is, is not enabled or of an older version"
    )
    none = "Not looked at: history (no controller leads that keeps a history)."
    told = f"0 errors, 0 warnings. Nothing wrong with: {names}. Not looked at: cache ({unseen}). {none}\n"

    async def fine() -> bool:
        # the namespaces of tests before this one take a while to go
        done = await penstock(cluster.sandbox, "doctor")
        assert (done.code, done.output) == (0, told), done.errors
        return True

    await eventually(fine, seconds=120, message="something is wrong with what is installed")


async def test_a_kind_that_is_not_served_is_found(doctor: Doctor, client: Client) -> None:
    name = "workloadpriorityclasses.penstock.dev"
    await client.delete(f"{DEFINITIONS}/{name}")
    try:
        await until_gone(client, f"{DEFINITIONS}/{name}", seconds=90)
        assert await doctor.finds(CRDS) == {f"CustomResourceDefinition {name}": "does not exist"}
    finally:
        await until_gone(client, f"{DEFINITIONS}/{name}", seconds=90)
        await serve_our_kinds(client)
    assert await doctor.finds(CRDS) == {}


async def test_a_kind_of_another_version_is_found(doctor: Doctor, client: Client) -> None:
    name = "localqueues.penstock.dev"
    path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/stopPolicy/description"
    await client.patch(
        f"{DEFINITIONS}/{name}", [{"op": "replace", "path": path, "value": "another"}], content_type=JSON_PATCH
    )
    try:
        found = await doctor.finds(CRDS, severity="Warning")
        assert list(found) == [f"CustomResourceDefinition {name}"]
    finally:
        await serve_our_kinds(client)
    assert await doctor.finds(CRDS, severity="Warning") == {}


def a_deployment(name: str, image: str, **pod: Any) -> dict[str, Any]:
    labels = {"app": name}
    return {
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": image}], **pod},
            },
        },
    }


async def test_a_program_of_another_version_is_found(doctor: Doctor, client: Client) -> None:
    async with besides(client, DEPLOYMENTS, a_deployment("penstock-controller", "registry:5000/penstock:9.9.9")):
        where = "Deployment penstock-system/penstock-controller"
        assert await doctor.finds(VERSIONS) == {where: "has no available replica of 1"}
        (what,) = (await doctor.finds(VERSIONS, severity="Warning")).values()
        assert what.startswith("runs version 9.9.9; this is penstock ")


async def test_rights_that_the_controller_lacks_are_found(doctor: Doctor, client: Client) -> None:
    where = "ServiceAccount penstock-system/penstock-controller"
    async with without(client, f"{RBAC}/clusterrolebindings/penstock-controller"):
        found = await eventually(lambda: doctor.finds(RIGHTS), message="the authorizer does not know yet")
        assert list(found) == [where]
        assert found[where].startswith("may not get pods, list pods, watch pods, patch pods, ")

    async def given() -> bool:
        return await doctor.finds(RIGHTS) == {}

    await eventually(given, message="the rights are not given back")


async def test_accounts_that_do_not_exist_are_found(doctor: Doctor) -> None:
    doctor.home = "default"
    found = await doctor.finds(RIGHTS)
    assert set(found.values()) == {"does not exist"}
    assert "ServiceAccount default/penstock-controller" in found


async def test_an_api_that_does_not_answer_is_found_first(cluster: Cluster, doctor: Doctor, client: Client) -> None:
    name = "v1alpha1.visibility.penstock.dev"
    spec = {
        "group": "visibility.penstock.dev",
        "version": "v1alpha1",
        "service": {"namespace": "penstock-system", "name": "nowhere"},
        "insecureSkipTLSVerify": True,
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
    }
    path = "/apis/apiregistration.k8s.io/v1/apiservices"
    async with besides(client, path, {"metadata": {"name": name}, "spec": spec}):
        (where,) = await eventually(lambda: doctor.finds(VISIBILITY), message="the APIService is not looked at")
        assert where == f"APIService {name}"
        done = await penstock(cluster.sandbox, "doctor", "-o", "json")
        first = orjson.loads(done.output)["findings"][0]
        assert (done.code, first["check"], first["where"]) == (1, "visibility", where)
        assert first["remedy"].endswith(f"kubectl delete apiservice {name}")


async def test_who_may_not_look_is_told_which_rights_to_ask_for(cluster: Cluster) -> None:
    settings = await config.load(str(cluster.sandbox.kubeconfig))
    nobody = ActingAs("jane", ("system:authenticated",))
    async with Client(settings, user_agent="test", acting_as=nobody) as client:
        results = await examine(Doctor(client).examined)
    assert not any(one.is_done for one in results)
    texts = {one.check: one.findings[0].what for one in results}
    assert texts["objects"].startswith("may not list clusterpodschedulingpolicies.penstock.dev, ")
    assert texts["leader"] == (
        "may not get leases.coordination.k8s.io in namespace penstock-system, so this was not checked"
    )


# -- the webhook ---------------------------------------------------------------------------------------------------


def a_registration(**client_config: Any) -> dict[str, Any]:
    """One that is ours by its label, and asks about nothing that there is."""
    rule = {
        "apiGroups": ["test.penstock.dev"],
        "apiVersions": ["*"],
        "operations": ["CREATE"],
        "resources": ["nothing"],
    }
    entry = {
        "name": "doctor.penstock.dev",
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "clientConfig": client_config,
    }
    labels = {"app.kubernetes.io/part-of": "penstock"}
    return {"metadata": {"name": "doctor-test", "labels": labels}, "webhooks": [entry]}


def authority(days: float) -> str:
    """A caBundle that ends in so many days, or so many ago."""
    made = Authority.create("test", now=clock.now() - 100 * 86_400, days=100 + days)
    return base64.b64encode(made.pair.certificate_pem).decode()


AT = "mutatingwebhookconfiguration doctor-test, webhook doctor.penstock.dev"
MUTATING = f"{ADMISSION}/mutatingwebhookconfigurations"


@pytest.mark.parametrize(
    ("bundle", "severity", "where", "what"),
    [
        (None, "Error", AT, "has no caBundle"),
        (authority(-1), "Error", f"{AT}: caBundle", "expired at "),
        (authority(5), "Warning", f"{AT}: caBundle", "expires at "),
    ],
    ids=["none", "expired", "expires soon"],  # each process draws certificates of its own
)
async def test_a_bundle_that_cannot_be_trusted_is_found(
    doctor: Doctor, client: Client, bundle: str | None, severity: str, where: str, what: str
) -> None:
    document = a_registration(url="https://127.0.0.1:1/x", **({} if bundle is None else {"caBundle": bundle}))
    async with besides(client, MUTATING, document):
        found = await doctor.finds(WEBHOOK, severity=severity)
    assert list(found) == [where]
    assert found[where].startswith(what)


async def test_a_service_without_endpoints_is_found(doctor: Doctor, client: Client) -> None:
    service = {"namespace": "penstock-system", "name": "penstock-webhook", "path": "/mutate/pods"}
    async with besides(client, MUTATING, a_registration(service=service, caBundle=authority(300))):
        found = await doctor.finds(WEBHOOK)
        assert list(found) == ["Service penstock-system/penstock-webhook"]
        metadata = {"name": "ours", "labels": {"kubernetes.io/service-name": "penstock-webhook"}}
        endpoints = [{"addresses": ["10.0.0.1"], "conditions": {"ready": True}}]
        document = {"metadata": metadata, "addressType": "IPv4", "endpoints": endpoints}
        path = "/apis/discovery.k8s.io/v1/namespaces/penstock-system/endpointslices"
        async with besides(client, path, document):
            assert await doctor.finds(WEBHOOK) == {}


async def test_a_serving_certificate_that_ends_is_found(doctor: Doctor, client: Client) -> None:
    service = {"namespace": "penstock-system", "name": "penstock-webhook", "path": "/mutate/pods"}
    volume = {"name": "tls", "secret": {"secretName": "doctor-tls"}}
    secret = {"metadata": {"name": "doctor-tls"}, "data": {"tls.crt": authority(-1)}}
    registration = a_registration(service=service, caBundle=authority(300))
    async with (
        besides(client, MUTATING, registration),
        besides(client, DEPLOYMENTS, a_deployment("penstock-webhook", "penstock", volumes=[volume])),
    ):
        assert (await doctor.finds(WEBHOOK))["Secret penstock-system/doctor-tls"].startswith("does not exist")
        async with besides(client, SECRETS, secret):
            found = await doctor.finds(WEBHOOK)
    assert found["Secret penstock-system/doctor-tls: tls.crt"].startswith("expired at ")


async def test_a_webhook_that_makes_its_certificate_needs_no_secret(doctor: Doctor, client: Client) -> None:
    volume = {"name": "tls", "secret": {"secretName": "doctor-tls", "optional": True}}
    async with besides(client, DEPLOYMENTS, a_deployment("penstock-webhook", "penstock", volumes=[volume])):
        assert await doctor.finds(WEBHOOK) == {}


async def test_a_failure_policy_that_lets_pods_by_is_found(doctor: Doctor, client: Client) -> None:
    path = f"{ADMISSION}/validatingwebhookconfigurations/penstock"
    names = [one["name"] for one in orjson.loads(await client.get(path))["webhooks"]]
    at = f"/webhooks/{names.index('updates.penstock.dev')}/failurePolicy"

    async def set_to(value: str) -> None:
        await client.patch(path, [{"op": "replace", "path": at, "value": value}], content_type=JSON_PATCH)

    await set_to("Ignore")
    try:
        found = await doctor.finds(WEBHOOK, severity="Warning")
        (where,) = found
        assert where == "validatingwebhookconfiguration penstock, webhook updates.penstock.dev"
        assert found[where].endswith("while the webhook does not answer, pods pass unchecked")
    finally:
        await set_to("Fail")
    assert await doctor.finds(WEBHOOK, severity="Warning") == {}

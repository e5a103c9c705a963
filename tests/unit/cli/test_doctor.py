"""`penstock doctor`: what its checks make of what they read, and what it prints. Real clusters: tests/integration."""

from __future__ import annotations

import base64
from copy import deepcopy
from typing import Any

import pytest

from controller.api.crd import KINDS, render
from controller.cli.doctor_checks.cluster import Cluster
from controller.cli.doctor_checks.every import CHECKS, examine
from controller.core.keys import CLUSTER_QUEUE, CONDITION, GATE, QUEUE_NAME
from controller.history.health import HistoryHealth
from controller.kube.clock import rfc3339, rfc3339_micro
from controller.kube.errors import WEBHOOK_AWAY, Forbidden, ServerError
from controller.kube.manifests import load_documents
from controller.sandbox.shipped import manifests
from controller.telemetry.authority import Authority
from tests.support.fake_time import FakeTime
from tests.support.still_cluster import Json, StillClient

NOW = 1_772_352_000.0
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
APPS = "/apis/apps/v1/namespaces/penstock-system/deployments"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/penstock-system/leases/penstock-controller"
OURS = "/apis/penstock.dev/v1alpha1"
BY_NAME = {check.name: check for check in CHECKS}


def authority(days: float) -> str:
    made = Authority.create("test", now=NOW - 100 * 86_400, days=100 + days)
    return base64.b64encode(made.pair.certificate_pem).decode()


def a_lease(*, age: float = 1.0, holder: str = "one") -> Json:
    spec = {"holderIdentity": holder, "renewTime": rfc3339_micro(NOW - age), "leaseDurationSeconds": 15}
    return {"metadata": {"annotations": HistoryHealth().annotations()}, "spec": spec}


# outside any test's event loop: files are read
SHIPPED = {name: load_documents(manifests(name)) for name in ("webhook", "policy")}


def registrations() -> dict[str, Json]:
    """What config/webhook has, with a caBundle."""
    found = {}
    for one in deepcopy(SHIPPED["webhook"]):
        for entry in one["webhooks"]:
            entry["clientConfig"]["caBundle"] = authority(300)
        found[f"{ADMISSION}/{one['kind'].lower()}s/{one['metadata']['name']}"] = one
    return found


def installed() -> dict[str, Json]:
    """A cluster in which nothing is wrong."""
    established = {"status": {"conditions": [{"type": "Established", "status": "True"}]}}
    kinds = {
        f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{one.definition.resource}": {
            **render(one),
            **established,
        }
        for one in KINDS
    }
    accounts = {
        f"/api/v1/namespaces/penstock-system/serviceaccounts/{name}": {"metadata": {"name": name}}
        for name in ("penstock-controller", "penstock-webhook")
    }
    slices = "/apis/discovery.k8s.io/v1/namespaces/penstock-system/endpointslices/one"
    return {
        "/version": {"minor": "36", "gitVersion": "v1.36.0"},
        LEASE: a_lease(),
        **kinds,
        **accounts,
        **registrations(),
        "/apis/visibility.penstock.dev/v1alpha1/cachesources": {"items": []},
        slices: {"endpoints": [{"addresses": ["10.0.0.1"]}]},
        f"{OURS}/localqueues/main": {"metadata": {"namespace": "default", "name": "main"}, **active("True", "Ready")},
    }


def active(status: str, reason: str, generation: int = 0) -> Json:
    condition = {"type": "Active", "status": status, "reason": reason, "message": "the message"}
    return {"status": {"conditions": [{**condition, "observedGeneration": generation}]}}


async def found(client: StillClient, name: str) -> list[tuple[str, str, str]]:
    """(severity, where, how what begins) of what a check finds."""
    (result,) = await examine(client.cluster, (BY_NAME[name],))
    return [(one.severity.value, one.where, one.what) for one in result.findings]


@pytest.mark.usefixtures("time")
async def test_nothing_is_found_where_nothing_is_wrong() -> None:
    results = await examine(StillClient(installed()).cluster)
    assert [(one.check, one.findings, one.is_done) for one in results] == [(one.name, (), True) for one in CHECKS]


CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/localqueues.penstock.dev"


@pytest.mark.parametrize(
    ("changes", "severity", "what"),
    [
        ({CRD: None}, "Error", "does not exist"),
        ({CRD: {"status": {}}}, "Error", "is not served: it is new"),
        ({CRD: {"spec": {"versions": []}}}, "Warning", "is not that of this version of penstock"),
    ],
)
async def test_a_kind_is_found_that_is_not_as_it_should_be(
    changes: dict[str, Json | None], severity: str, what: str
) -> None:
    objects = installed()
    for path, change in changes.items():
        if change is None:
            del objects[path]
        else:
            objects[path] = {**objects[path], **change}
    ((how, where, text),) = await found(StillClient(objects), "crds")
    assert (how, where) == (severity, "CustomResourceDefinition localqueues.penstock.dev")
    assert text.startswith(what)


@pytest.mark.parametrize(
    ("image", "texts"),
    [
        ("penstock", []),
        ("host:5000/penstock@sha256:0", []),
        ("host:5000/penstock:v9.9.9", ["runs version v9.9.9; this is penstock 0.1.0"]),
    ],
)
async def test_versions_that_differ_are_found(image: str, texts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda _: "0.1.0")
    pod = {"spec": {"containers": [{"image": image}]}}
    deployment = {"spec": {"replicas": 2, "template": pod}, "status": {"availableReplicas": 2}}
    objects = {**installed(), f"{APPS}/penstock-webhook": deployment}
    assert [what for _, _, what in await found(StillClient(objects), "versions")] == texts


async def test_an_old_cluster_and_a_program_that_is_down_are_found() -> None:
    down = {"spec": {"replicas": 0, "template": {"spec": {"containers": []}}}}
    objects = {**installed(), "/version": {"minor": "33+"}, f"{APPS}/penstock-controller": down}
    assert [what for _, _, what in await found(StillClient(objects), "versions")] == [
        "is unknown; Penstock needs 1.34",
        "has no available replica of 0",
    ]


@pytest.mark.parametrize(
    ("lease", "what"),
    [
        (None, "does not exist: "),
        (a_lease(holder=""), "has no holder: "),
        (a_lease(age=60), "was renewed last at 2026-03-01T07:59:00.000000Z, by one, "),
    ],
)
async def test_a_lease_that_nobody_renews_is_found(time: FakeTime, lease: Json | None, what: str) -> None:
    pod = a_pod("a", {QUEUE_NAME: "main"}, GATE)
    objects = {**installed(), "/api/v1/namespaces/default/pods/a": pod}
    del objects[LEASE]
    client = StillClient(objects if lease is None else {**objects, LEASE: lease})
    ((_, where, text),) = await found(client, "leader")
    assert (where, text.startswith(what)) == ("Lease penstock-system/penstock-controller", True)
    assert [where for _, where, _ in await found(client, "pods")] == ["pods in namespace default (a)"]
    assert time.slept in ([], [6.0, 6.0])


async def test_rights_that_are_missing_are_named() -> None:
    client = StillClient(installed(), refused=("patch pods", "watch namespaces"))
    texts = {where: what for _, where, what in await found(client, "rights")}
    assert texts == {
        "ServiceAccount penstock-system/penstock-controller": "may not patch pods, patch pods/status, watch namespaces",
        "ServiceAccount penstock-system/penstock-webhook": "may not watch namespaces",
    }
    elsewhere = Cluster(client.cluster.client, "other", "default")
    (result,) = await examine(elsewhere, (BY_NAME["rights"],))
    assert {one.what for one in result.findings} == {"does not exist"}


# -- the gate and the webhook --------------------------------------------------------------------------------------


async def test_a_gate_that_is_kept_by_half_is_found() -> None:
    objects = {path: one for path, one in installed().items() if "mutating" not in path}
    client = StillClient(objects)
    client.of_queue = Forbidden(403, "Forbidden", "gate-required: spec.schedulingGates: …")
    assert [(where, what.split(";")[0]) for _, where, what in await found(client, "gate")] == [
        ("MutatingWebhookConfiguration penstock", "does not exist"),
        (
            "a new pod in namespace default",
            "names a queue, gets no gate, and is refused for that: no pod of a queue can be created",
        ),
    ]
    policies = SHIPPED["policy"]
    one_of_them = next(one for one in policies if one["kind"] == "MutatingAdmissionPolicy")
    partly = {f"{ADMISSION}/mutatingadmissionpolicies/{one_of_them['metadata']['name']}": one_of_them}
    neither = StillClient({path: one for path, one in {**objects, **partly}.items() if "webhookconf" not in path})
    assert len(await found(neither, "gate")) == len(policies) - 1


async def test_a_gate_that_nothing_keeps_is_found() -> None:
    objects = {path: one for path, one in installed().items() if ADMISSION not in path}
    assert [where for _, where, _ in await found(StillClient(objects), "gate")] == ["the gate"]


async def test_pods_that_are_tried_show_what_the_apiserver_does() -> None:
    client = StillClient(installed())
    client.gates_queued, client.protects = False, False
    assert [what.split(":")[0] for _, _, what in await found(client, "gate")] == [
        "names a queue and gets no gate",
        "may carry the gate penstock.dev/queue without naming a queue",
    ]
    client.of_queue = ServerError(500, "InternalError", f"{WEBHOOK_AWAY} x: refused")
    assert (await found(client, "gate"))[0][2].startswith("is refused, since a webhook does not answer: ")
    client.of_queue = Forbidden(403, "Forbidden", "exceeded quota")
    severity, _, what = (await found(client, "gate"))[0]
    assert (severity, what) == ("Warning", "could not be tried: exceeded quota")


@pytest.mark.parametrize(
    ("bundle", "severity", "what"),
    [
        ("", "Error", "has no caBundle: "),
        ("AAAA", "Error", "holds no certificate in PEM"),
        ("AAA", "Error", "holds no certificate in PEM"),
        (authority(-1), "Error", "expired at 2026-02-28T08:00:00Z: "),
        (authority(3), "Warning", "expires at 2026-03-04T08:00:00Z, "),
    ],
    ids=["none", "no PEM", "no base64", "expired", "expires soon"],  # each process draws certificates of its own
)
@pytest.mark.usefixtures("time")
async def test_bundles_are_judged_once_each(bundle: str, severity: str, what: str) -> None:
    objects = installed()
    for one in registrations():
        for entry in objects[one]["webhooks"]:
            entry["clientConfig"]["caBundle"] = bundle
    ((how, where, text),) = await found(StillClient(objects), "webhook")
    assert (how, where.startswith("mutatingwebhookconfiguration penstock, webhook ")) == (severity, True)
    assert text.startswith(what)


@pytest.mark.usefixtures("time")
async def test_a_webhook_that_cannot_be_asked_is_found() -> None:
    tls = {"name": "tls", "secret": {"secretName": "tls"}}
    deployment = {"spec": {"template": {"spec": {"containers": [], "volumes": [tls]}}}}
    objects = {path: one for path, one in installed().items() if "endpointslices" not in path}
    objects[f"{APPS}/penstock-webhook"] = deployment
    secret = "/api/v1/namespaces/penstock-system/secrets/tls"
    validating = objects[f"{ADMISSION}/validatingwebhookconfigurations/penstock"]
    validating["webhooks"][0]["failurePolicy"] = "Ignore"
    name = validating["webhooks"][0]["name"]
    texts = [(where, what) for _, where, what in await found(StillClient(objects), "webhook")]
    assert [where for where, _ in texts] == [
        f"validatingwebhookconfiguration penstock, webhook {name}",
        "Service penstock-system/penstock-webhook",
        "Secret penstock-system/tls",
    ]
    objects[secret] = {"data": {"tls.crt": authority(-1)}}
    blind = (await found(StillClient(objects, refused=("get secrets",)), "webhook"))[-1]
    assert blind[:2] == ("Warning", "Secret penstock-system/tls")
    assert (await found(StillClient(objects), "webhook"))[-1][1] == "Secret penstock-system/tls: tls.crt"


# -- pods and objects ----------------------------------------------------------------------------------------------


def a_pod(name: str, labels: Json, *gates: str, age: float = 0.0, reason: str = "", **metadata: Any) -> Json:
    created = {"creationTimestamp": rfc3339(NOW - age)}
    status = {"phase": "Pending", "conditions": [{"type": CONDITION, "reason": reason}] if reason else []}
    return {
        "metadata": {"namespace": "default", "name": name, "labels": labels, **created, **metadata},
        "spec": {"schedulingGates": [{"name": gate} for gate in gates]},
        "status": status,
    }


OF_DAEMON_SET = [{"kind": "DaemonSet", "name": "d", "controller": True}]


@pytest.mark.parametrize(
    ("pod", "severity", "what"),
    [
        (a_pod("a", {}, GATE), "Error", "carry the gate penstock.dev/queue and name no queue: "),
        (a_pod("a", {QUEUE_NAME: "x"}, GATE), "Warning", "wait for a LocalQueue that does not exist"),
        (a_pod("a", {QUEUE_NAME: "main"}, GATE, reason="PatchRejected"), "Error", "were to be released, and "),
        (a_pod("a", {QUEUE_NAME: "main"}, GATE, age=301), "Error", "wait for more than 300 s without a condition"),
        (a_pod("a", {QUEUE_NAME: "main"}), "Warning", "name a queue, and were not admitted by it: "),
        (a_pod("a", {QUEUE_NAME: "main"}, GATE), None, None),
        (a_pod("a", {QUEUE_NAME: "main"}, GATE, age=900, reason="QuotaExceeded"), None, None),
        (a_pod("a", {QUEUE_NAME: "main", CLUSTER_QUEUE: "cq"}), None, None),
        (a_pod("a", {QUEUE_NAME: "main"}, ownerReferences=OF_DAEMON_SET), None, None),
        (a_pod("a", {}, "example.com/other"), None, None),
        (a_pod("a", {}, GATE, deletionTimestamp=rfc3339(NOW)), None, None),
    ],
)
@pytest.mark.usefixtures("time")
async def test_pods_that_are_stuck_are_found(pod: Json, severity: str | None, what: str | None) -> None:
    client = StillClient({**installed(), "/api/v1/namespaces/default/pods/a": pod})
    texts = await found(client, "pods")
    assert [how for how, _, _ in texts] == ([severity] if severity else [])
    assert all(what and text.startswith(what) for _, _, text in texts)


@pytest.mark.parametrize(
    ("status", "severity"),
    [
        (active("True", "Ready"), None),
        (active("False", "Stopped"), None),
        (active("False", "FlavorNotFound"), "Error"),
        ({}, "Warning"),
        (active("True", "Ready", generation=-1), "Warning"),
    ],
)
@pytest.mark.usefixtures("time")
async def test_objects_that_cannot_be_used_are_found(status: Json, severity: str | None) -> None:
    document = {"metadata": {"name": "cq", "creationTimestamp": rfc3339(NOW - 90)}, **status}
    client = StillClient({**installed(), f"{OURS}/clusterqueues/cq": document})
    texts = [(how, where) for how, where, _ in await found(client, "objects")]
    assert texts == ([(severity, "ClusterQueue cq")] if severity else [])


@pytest.mark.usefixtures("time")
async def test_a_new_object_need_not_have_been_looked_at() -> None:
    document = {"metadata": {"name": "cq", "creationTimestamp": rfc3339(NOW - 30)}}
    assert await found(StillClient({**installed(), f"{OURS}/clusterqueues/cq": document}), "objects") == []


async def test_only_our_apis_that_are_away_are_found() -> None:
    def api(group: str, status: str, service: Json | None) -> Json:
        spec = {"group": group, "service": service}
        condition = {"type": "Available", "status": status, "message": "no endpoints"}
        return {"metadata": {"name": f"v1.{group}"}, "spec": spec, "status": {"conditions": [condition]}}

    apis = [
        api("visibility.penstock.dev", "False", {"name": "x"}),
        api("penstock.dev", "False", None),
        api("metrics.k8s.io", "False", {"name": "x"}),
    ]
    path = "/apis/apiregistration.k8s.io/v1/apiservices"
    client = StillClient({**installed(), **{f"{path}/{one['metadata']['name']}": one for one in apis}})
    ((_, where, what),) = await found(client, "visibility")
    assert where == "APIService v1.visibility.penstock.dev"
    assert what == "is not available (no endpoints): namespaces stay Terminating"

from __future__ import annotations

import base64
import io
import os
import ssl
import zlib
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest
import structlog
import trustme
from aiohttp.test_utils import TestClient, TestServer
from cryptography import x509
from msgspec import Raw

from controller.core.kubernetes.directives import REQUIRED
from controller.core.scheduling_policies.policy import MergeOption
from controller.objects.pod_policies import ReadPolicy, read_policy
from controller.objects.scheduling_policies import ReadSchedulingPolicy
from controller.telemetry.http import Address, serving
from controller.telemetry.tls import Certificate, CertificateError
from tests.support.api_objects import pod_policy
from tests.support.worlds import EmptyWorld
from webhook import server
from webhook.metrics import WebhookMetrics
from webhook.reviews.admission import Answer
from webhook.server import admission
from webhook.world.account_policies import AccountPolicies
from webhook.world.cluster import ClusterLookups

Json = dict[str, Any]

ENDPOINTS = {"/mutate/pods": "mutate", "/mutate/podtemplates": "mutate_template", "/validate/pods": "validate"}
"""How metrics call each path."""


QUEUED = {"labels": {"penstock.dev/queue-name": "main"}}


HELD: Json = {"metadata": QUEUED, "spec": {}}


def a_review(pod: Json | None = None, *, uid: str = "42") -> Json:
    request = {
        "uid": uid,
        "operation": "CREATE",
        "namespace": "default",
        "resource": {"group": "", "resource": "pods"},
        "object": HELD if pod is None else pod,
    }
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}


async def post(body: bytes, *, ready: bool = True, path: str = "/mutate/pods") -> tuple[int, bytes, dict[str, int]]:
    """Status and body of the answer, and the reviews counted by result; all must be of the endpoint asked."""
    metrics = WebhookMetrics()
    app = admission(EmptyWorld(), metrics, ready=lambda: ready)
    async with TestClient(TestServer(app)) as client, client.post(path, data=io.BytesIO(body)) as answer:
        body = await answer.read()
    samples = [s for metric in metrics.reviews.collect() for s in metric.samples if s.name.endswith("_total")]
    assert {s.labels["endpoint"] for s in samples if s.value} <= {ENDPOINTS.get(path)}
    return answer.status, body, {s.labels["result"]: int(s.value) for s in samples if s.value}


async def test_templates_are_reviewed_at_their_own_path() -> None:
    review = a_review({"metadata": {}, "spec": {"template": {"metadata": {}, "spec": {}}}})
    review["request"]["resource"] = {"group": "apps", "resource": "deployments"}
    status, _, counts = await post(orjson.dumps(review), path="/mutate/podtemplates")
    assert (status, counts) == (200, {"unchanged": 1})
    assert (await post(orjson.dumps(review)))[0] == 400
    assert (await post(orjson.dumps(a_review()), path="/mutate/podtemplates"))[0] == 400


@pytest.mark.parametrize(
    ("pod", "result"),
    [
        (None, "changed"),
        ({"metadata": {}, "spec": {}}, "unchanged"),
        ({"metadata": {"labels": {"penstock.dev/queue-name": "a"}}, "spec": {"nodeName": "n"}}, "denied"),
    ],
)
async def test_a_review_is_answered_and_counted(pod: Json | None, result: str) -> None:
    status, body, counts = await post(orjson.dumps(a_review(pod)))
    response = orjson.loads(body)["response"]
    assert (status, response["uid"], response["allowed"]) == (200, "42", result != "denied")
    assert ("patch" in response) is (result == "changed")
    assert counts == {result: 1}
    if result == "changed":
        operations = orjson.loads(base64.b64decode(response["patch"]))
        assert operations[-1]["value"] == [{"name": "penstock.dev/queue"}]


@pytest.mark.parametrize(("denial", "result"), [(None, "allowed"), ("no", "denied")])
async def test_a_validation_is_answered_and_counted(
    denial: str | None, result: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "validate", lambda *_: Answer(denial=denial, warnings=("w",)))
    status, body, counts = await post(orjson.dumps(a_review()), path="/validate/pods")
    response = orjson.loads(body)["response"]
    assert (status, response["allowed"], response["warnings"]) == (200, denial is None, ["w"])
    assert counts == {result: 1}


async def test_a_pod_of_a_queue_is_not_changed_by_its_validation() -> None:
    gated = {"metadata": QUEUED, "spec": {"schedulingGates": [{"name": "penstock.dev/queue"}]}}
    _, body, counts = await post(orjson.dumps(a_review(gated)), path="/validate/pods")
    assert (orjson.loads(body)["response"], counts) == ({"uid": "42", "allowed": True}, {"allowed": 1})


BINDING = {"metadata": QUEUED, "target": {"kind": "Node", "name": "n"}}


@pytest.mark.parametrize(
    ("resource", "subresource", "document", "result"),
    [
        ("pods", "binding", BINDING, "denied"),
        ("bindings", None, BINDING, "denied"),
        ("pods", "binding", {"target": {}}, "allowed"),
        ("pods", "binding", {"metadata": 5}, "unreadable"),
        ("pods", "binding", None, "unreadable"),
        ("pods", "status", {"metadata": {}, "spec": {}, "status": {"conditions": [{"type": "Ready"}]}}, "allowed"),
        ("pods", "status", {"metadata": {}, "spec": {}, "status": {"conditions": 5}}, "unreadable"),
        ("pods", "resize", {"metadata": {}, "spec": {"containers": [{"name": "a"}]}}, "allowed"),
        ("pods", "resize", {"metadata": {}, "spec": {"containers": [{"name": "a", "resources": []}]}}, "unreadable"),
        ("nodes", None, {"metadata": {}, "spec": {}}, "bad"),
    ],
)
async def test_each_kind_of_request_is_validated_by_its_own_form(
    resource: str, subresource: str | None, document: Json | None, result: str
) -> None:
    review = a_review()
    review["request"] |= {"resource": {"group": "", "resource": resource}, "subResource": subresource}
    review["request"]["object"] = document
    status, _, counts = await post(orjson.dumps(review), path="/validate/pods")
    assert (status, counts) == (400 if result == "bad" else 200, {result: 1})


ILL_TYPED: list[tuple[Json, str]] = [
    ({"containers": [[]]}, "spec.containers[0]"),
    ({"containers": 5}, "spec.containers"),
    ({"initContainers": [{"name": "a", "resources": 5}]}, "spec.initContainers[0].resources"),
    ({"affinity": "x"}, "spec.affinity"),
    ({"affinity": {"podAffinity": {REQUIRED: [{"labelSelector": 5}]}}}, f"podAffinity.{REQUIRED}[0].labelSelector"),
    ({"preemptionPolicy": 5}, "spec.preemptionPolicy"),
    ({"schedulingGroup": {"podGroupName": 5}}, "spec.schedulingGroup.podGroupName"),
    ({"topologySpreadConstraints": [5]}, "spec.topologySpreadConstraints[0]"),
]
"""Specs, and which place is named."""


@pytest.mark.parametrize("path", ["/mutate/pods", "/validate/pods"])
@pytest.mark.parametrize("which", ["object", "oldObject"])
@pytest.mark.parametrize(("spec", "place"), ILL_TYPED)
async def test_what_is_of_the_wrong_form_is_refused_with_its_place(
    spec: Json, place: str, which: str, path: str
) -> None:
    review = a_review()
    held: Json = {"metadata": QUEUED, "spec": {"schedulingGates": [{"name": "penstock.dev/queue"}]}}
    review["request"] |= {"operation": "UPDATE", "object": held, "oldObject": held}
    review["request"][which] = {**held, "spec": {**held["spec"], **spec}}
    status, body, counts = await post(orjson.dumps(review), path=path)
    assert (status, counts) == (200, {"unreadable": 1})
    message = orjson.loads(body)["response"]["status"]["message"]
    assert f"`$.{which}." in message
    assert f"{place}`" in message


async def test_a_review_without_its_object_is_refused() -> None:
    review = a_review()
    review["request"]["object"] = None
    _, body, counts = await post(orjson.dumps(review), path="/validate/pods")
    assert counts == {"denied": 1}
    assert orjson.loads(body)["response"]["status"]["message"].startswith("request.object is missing")


async def test_a_binding_is_never_taken_for_a_pod_to_change() -> None:
    review = a_review(BINDING)
    review["request"]["subResource"] = "binding"
    assert (await post(orjson.dumps(review)))[0] == 400


async def test_what_becomes_of_policies_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = WebhookMetrics()
    monkeypatch.setattr(server, "mutate", lambda *_: Answer(counted=(("a", "changed"), ("a", "changed"), ("b/c", "x"))))
    app = admission(EmptyWorld(), metrics, ready=lambda: True)
    async with TestClient(TestServer(app)) as client, client.post("/mutate/pods", json=a_review()) as answer:
        assert answer.status == 200
    assert counted(metrics) == {("a", "changed"): 2, ("b/c", "x"): 1}


def counted(metrics: WebhookMetrics) -> dict[tuple[str, ...], float]:
    samples = [s for metric in metrics.policies.collect() for s in metric.samples if s.name.endswith("_total")]
    return {tuple(s.labels.values()): s.value for s in samples}


def test_the_counters_of_a_policy_that_is_gone_end() -> None:
    metrics, world = WebhookMetrics(), ClusterLookups(account_policies=AccountPolicies(MergeOption.DEEP_MERGE))
    world.policies.put(ReadPolicy(("", "wide"), None, "faulty"))
    world.policies.put(read_policy(Raw(orjson.dumps(pod_policy("own", nodeSelector={"a": "b"})))))
    assert world.account_policies is not None
    world.account_policies.policies.upsert(ReadSchedulingPolicy("kept", None, "faulty"))
    names = ("wide", "default/own", "SchedulingPolicy/kept")
    for name in (*names, "default/gone", "SchedulingPolicy/gone", "gone"):
        metrics.count_policy(name, "changed")
        metrics.count_policy(name, "unchanged")
    metrics.forget_policies(world.policy_entries())
    assert {name for name, _ in counted(metrics)} == set(names)
    metrics.count_policy("gone", "changed")
    assert counted(metrics)["gone", "changed"] == 1


def test_policies_beyond_a_thousand_are_counted_together() -> None:
    metrics = WebhookMetrics()
    for number in range(1500):
        metrics.count_policy(f"p{number}", "changed")
    assert (len(counted(metrics)), counted(metrics)["(others)", "changed"]) == (1001, 500)
    metrics.count_policy("p7", "changed")
    assert counted(metrics)["p7", "changed"] == 2
    metrics.forget_policies({"p7"})
    metrics.count_policy("new", "changed")
    assert counted(metrics) == {("p7", "changed"): 2, ("(others)", "changed"): 500, ("new", "changed"): 1}


@pytest.mark.parametrize("path", ["/mutate/pods", "/validate/pods"])
@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"null", b"5", b'{"kind":"AdmissionReview"}', b"[" * 100_000])
async def test_a_bad_body_gets_one_plain_line(body: bytes, path: str) -> None:
    status, text, counts = await post(body, path=path)
    assert (status, counts) == (400, {"bad": 1})
    assert b"\n" not in text
    assert b"Traceback" not in text


@pytest.mark.parametrize("path", list(ENDPOINTS))
async def test_what_the_apiserver_takes_and_we_cannot_read_is_refused(path: str) -> None:
    nested = b'{"f:a":' * 1_100 + b"{}" + b"}" * 1_100
    review = orjson.dumps({"kind": "AdmissionReview", "apiVersion": "v1", "request": {"uid": "4-2", "object": "HERE"}})
    status, body, counts = await post(review.replace(b'"HERE"', nested), path=path)
    response = orjson.loads(body)["response"]
    assert (status, response["uid"], response["allowed"], counts) == (200, "4-2", False, {"unreadable": 1})
    assert "nest it less deeply" in response["status"]["message"]


async def test_a_fault_of_ours_is_left_to_the_failure_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "mutate", lambda *_: 1 / 0)
    with structlog.testing.capture_logs() as logged:
        status, text, counts = await post(orjson.dumps(a_review()))
    assert (status, counts) == (500, {"error": 1})
    assert [(entry["event"], entry["uid"], entry["exc_info"]) for entry in logged] == [("review_failed", "42", True)]
    assert text == b"Penstock failed at this review; its log says how"


async def test_what_a_pod_says_makes_no_answer_long(monkeypatch: pytest.MonkeyPatch) -> None:
    long = Answer(denial="x" * 100_000, audit=(("a", "y" * 100_000),))
    monkeypatch.setattr(server, "mutate", lambda *_: long)
    response = orjson.loads((await post(orjson.dumps(a_review())))[1])["response"]
    assert response["status"]["message"] == f"{'x' * 4_096}… (95,904 more characters)"
    assert len(response["auditAnnotations"]["a"]) < 5_000


async def test_a_body_beyond_the_limit_is_refused() -> None:
    status, text, counts = await post(b" " * (7 * 2**20 + 1))
    assert (status, text, counts) == (413, b"the body is larger than 7 MiB", {"bad": 1})


@pytest.mark.parametrize(
    ("spaces", "result", "why"),
    [
        (6 * 2**20, "changed", ""),
        (7 * 2**20, "unreadable", "is larger than 7 MiB; use a smaller one"),
        (30 * 2**20, "unreadable", "is larger than 7 MiB; use a smaller one"),
    ],
)
async def test_a_large_review_is_never_let_by_unjudged(spaces: int, result: str, why: str) -> None:
    status, body, counts = await post(orjson.dumps(a_review(uid="4-2")) + b" " * spaces)
    response = orjson.loads(body)["response"]
    assert (status, response["allowed"], counts) == (200, not why, {result: 1})
    assert why in response.get("status", {}).get("message", "")


@pytest.mark.parametrize("opening", [b"{},", b"[],"])
async def test_a_review_of_very_many_lists_is_refused(opening: bytes) -> None:
    review = orjson.dumps(a_review({**HELD, "more": ["HERE"]}, uid="4-2"))
    _, body, counts = await post(review.replace(b'"HERE"', opening * 300_000 + b"0"))
    assert counts == {"unreadable": 1}
    assert (
        "more than 300,000 lists and objects; use fewer of them" in orjson.loads(body)["response"]["status"]["message"]
    )


async def test_what_is_compressed_is_not_unpacked() -> None:
    app = admission(EmptyWorld(), WebhookMetrics(), ready=lambda: True)
    async with serving(app, Address("127.0.0.1", 0)) as address, aiohttp.ClientSession() as session:
        packed, headers = zlib.compress(orjson.dumps(a_review())), {"Content-Encoding": "deflate"}
        async with session.post(f"http://127.0.0.1:{address.port}/mutate/pods", data=packed, headers=headers) as answer:
            assert answer.status == 400


@pytest.mark.parametrize("path", ["/mutate/pods", "/validate/pods"])
async def test_until_the_world_is_known_nothing_is_answered(path: str) -> None:
    status, text, counts = await post(orjson.dumps(a_review()), ready=False, path=path)
    assert (status, text, counts) == (503, b"not ready: queues and namespaces are not listed yet", {})


async def test_any_other_path_is_not_found() -> None:
    assert (await post(b"", path="/"))[0] == 404


class Files:
    """A certificate and key on disk that can be replaced."""

    def __init__(self, folder: Path) -> None:
        self.certificate, self.key = folder / "tls.crt", folder / "tls.key"
        self._clock = 1_000_000_000
        self.authority = trustme.CA()

    def issue(self, name: str) -> None:
        issued = self.authority.issue_cert(name)
        self.write(issued.cert_chain_pems[0].bytes(), issued.private_key_pem.bytes())

    def write(self, certificate: bytes, key: bytes | None = None) -> None:
        self._clock += 1
        for path, content in ((self.certificate, certificate), (self.key, key)):
            if content is not None:
                path.write_bytes(content)
                os.utime(path, (self._clock, self._clock))

    def served_by(self, certificate: Certificate) -> str:
        """The name in the certificate that a client is shown, by a handshake in memory."""
        trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        trusting.check_hostname = False
        self.authority.configure_trust(trusting)
        pipes = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = trusting.wrap_bio(pipes[0], pipes[1])
        server = certificate.context().wrap_bio(pipes[1], pipes[0], server_side=True)
        for side in (client, server, client, server):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
        shown = client.getpeercert(binary_form=True)
        assert shown is not None
        names = x509.load_der_x509_certificate(shown).extensions.get_extension_for_class(x509.SubjectAlternativeName)
        return names.value.get_values_for_type(x509.DNSName)[0]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    made = Files(tmp_path)
    made.issue("one.test")
    return made


def test_a_new_certificate_is_served_once_its_files_changed(files: Files) -> None:
    certificate = Certificate(files.certificate, files.key)
    assert (certificate.refresh(), files.served_by(certificate)) == (False, "one.test")
    files.issue("two.test")
    assert (certificate.refresh(), files.served_by(certificate)) == (True, "two.test")
    assert not certificate.refresh()


def test_wrong_files_keep_the_certificate_until_good_ones_come(files: Files) -> None:
    certificate = Certificate(files.certificate, files.key)
    other = trustme.CA().issue_cert("three.test").private_key_pem.bytes()
    for spoilt in (b"", b"junk", files.authority.issue_cert("x.test").cert_chain_pems[0].bytes()):
        files.write(spoilt)
        assert (certificate.refresh(), files.served_by(certificate)) == (False, "one.test")
    files.write(files.certificate.read_bytes(), other)
    assert (certificate.refresh(), files.served_by(certificate)) == (False, "one.test")
    files.issue("two.test")
    assert (certificate.refresh(), files.served_by(certificate)) == (True, "two.test")


def test_missing_files_keep_the_old_certificate(files: Files) -> None:
    certificate = Certificate(files.certificate, files.key)
    files.key.unlink()
    assert (certificate.refresh(), files.served_by(certificate)) == (False, "one.test")
    files.issue("two.test")
    assert certificate.refresh()


@pytest.mark.parametrize("content", [None, b"", b"junk"])
def test_a_certificate_that_cannot_be_used_at_start_is_named(tmp_path: Path, content: bytes | None) -> None:
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    if content is not None:
        certificate.write_bytes(content)
        key.write_bytes(content)
    with pytest.raises(CertificateError) as caught:
        Certificate(certificate, key)
    assert str(caught.value).startswith(f"certificate {certificate} with key {key}: ")
    assert "\n" not in str(caught.value)


def test_old_tls_versions_are_not_spoken(files: Files) -> None:
    assert Certificate(files.certificate, files.key).context().minimum_version is ssl.TLSVersion.TLSv1_2

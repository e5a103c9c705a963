"""Alerts on the programs themselves fire from their faults: of the apiserver's answers, of files, of other servers."""

from __future__ import annotations

import asyncio
import signal
import ssl
from pathlib import Path
from types import MappingProxyType

import orjson
import pytest

from controller.kube import clock
from controller.kube.apply import apply
from controller.kube.client import Client
from controller.kube.errors import ApiError
from controller.kube.manifests import load_documents
from controller.sandbox.programs import Program
from controller.telemetry.authority import Authority
from controller.telemetry.http import Address
from tests.integration.monitoring.others import PASSWORD, TOKEN, Breaking, about, beside, instead, through, unserved
from tests.integration.monitoring.scraped import LOOKED_AT, Samples, over_time, samples_of, samples_of_apiserver
from tests.support import promtool
from tests.support.api_objects import cluster_pod_policy, node_terms
from tests.support.apiserver_proxy import Reply, Request
from tests.support.clusters import CONFIG, Cluster
from tests.support.eventually import eventually
from tests.support.notices import a_file, a_receiver, a_route
from tests.support.receiving import Receiver, a_server
from tests.support.secured import Wire, head, review
from tests.support.team import OURS, Team
from webhook.reviews.bodies import LIMIT

pytestmark = [pytest.mark.integration, pytest.mark.more]

_STALE_SECONDS = 61.0


LEADS = {"penstock_leading": 1.0}
"""What a webhook does not tell: somewhere a controller leads."""


async def fires(
    asked: Program | Client,
    before: Samples,
    alert: str,
    *,
    beside: Samples = MappingProxyType({}),
    seconds: float = 40,
    **options: bool,
) -> bool:
    """Wait until this alert fires, and no other; return that.

    It rests on what a program serves, or the apiserver that a client asks. `beside` is what others tell all the time.
    """

    async def found() -> bool:
        after = await (samples_of(asked) if isinstance(asked, Program) else samples_of_apiserver(asked))
        series = over_time({**before, **beside}, {**after, **beside}, **options)
        firing = await asyncio.to_thread(promtool.firing, series, f"{LOOKED_AT:.0f}s")
        assert firing == {alert}, firing
        return True

    return await eventually(found, seconds=seconds, message=f"{alert} does not fire alone")


async def until_leads(program: Program) -> Samples:
    async def leads() -> Samples:
        found = await samples_of(program)
        assert found["penstock_leading"] == 1
        return found

    return await eventually(leads, message="the controller does not lead")


async def test_a_list_that_never_comes_keeps_it_from_deciding(cluster: Cluster, tmp_path: Path) -> None:
    async with through(cluster, "penstock-controller", tmp_path) as (proxy, kubeconfig):
        proxy.hold(about("/api/v1/nodes"))
        async with instead(cluster, tmp_path, kubeconfig) as controller:
            await eventually(lambda: controller.port("http") is not None, message="it does not listen")
            before = await until_leads(controller)
            assert await fires(controller, before, "PenstockNotDeciding", deciding=False)


async def test_a_watch_that_cannot_be_kept_is_told(cluster: Cluster, team: Team, tmp_path: Path) -> None:
    classes = "/apis/node.k8s.io/v1/runtimeclasses"
    async with through(cluster, "penstock-controller", tmp_path) as (proxy, kubeconfig):
        watches = Breaking(proxy, about(classes))
        async with instead(cluster, tmp_path, kubeconfig) as controller:
            await controller.wait_ready()
            before = await until_leads(controller)
            watches.begin()
            await team.client.post(classes, {"metadata": {"name": team.id}, "handler": "none"})
            assert await fires(controller, before, "PenstockDataOutOfDate", seconds=_STALE_SECONDS + 60)
    await team.client.delete(f"{classes}/{team.id}")


async def test_a_release_without_an_answer_is_in_doubt(cluster: Cluster, team: Team, tmp_path: Path) -> None:
    async with through(cluster, "penstock-controller", tmp_path) as (proxy, kubeconfig):
        pods = f"/api/v1/namespaces/{team.namespace}/pods/"
        proxy.hold(lambda request: request.method in ("PATCH", "GET") and about(pods)(request) and not request.is_watch)
        async with instead(cluster, tmp_path, kubeconfig) as controller:
            await controller.wait_ready()
            before = await until_leads(controller)
            await team.ready({"spot": {"cpu": 2}})
            await team.pod("doubtful")
            assert await fires(controller, before, "PenstockReleasesInDoubt", seconds=_STALE_SECONDS + 60)


async def test_the_webhooks_watches_are_told_too(cluster: Cluster, team: Team, tmp_path: Path) -> None:
    async with through(cluster, "penstock-webhook", tmp_path) as (proxy, kubeconfig):
        watches = Breaking(proxy, about(f"{OURS}/localqueues"))
        async with beside(cluster, tmp_path, kubeconfig) as webhook:
            before = await samples_of(webhook)
            watches.begin()
            await team.local_queue()
            alert = "PenstockWebhookDataOutOfDate"
            assert await fires(webhook, before, alert, beside=LEADS, seconds=_STALE_SECONDS + 60)


@pytest.mark.parametrize(("fault", "alert"), [("raises", "PenstockWebhookErrors"), ("slow", "PenstockWebhookSlow")])
async def test_a_fault_of_the_webhook_is_told(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, alert: str
) -> None:
    monkeypatch.setenv("PENSTOCK_TEST_FAULT", fault)
    async with beside(cluster, tmp_path, module="tests.support.spoilt_webhook") as webhook:
        before = await samples_of(webhook)
        wire = await opened(cluster, webhook)
        for _ in range(3):
            await wire.ask(review())
        wire.close()
        assert await fires(webhook, before, alert, beside=LEADS, goes_on=True)


async def test_a_webhook_that_is_away_is_told(cluster: Cluster, team: Team) -> None:
    await team.ready({"spot": {"cpu": 2}})
    before = await samples_of_apiserver(team.client)
    webhook = cluster.programs.webhook.process
    webhook.send_signal(signal.SIGSTOP)  # a new one would listen elsewhere
    try:
        with pytest.raises(ApiError, match="failed calling webhook"):
            await team.pod("refused")
    finally:
        webhook.send_signal(signal.SIGCONT)
    assert await fires(team.client, before, "PenstockWebhookAway", beside=LEADS, goes_on=True)


async def test_a_certificate_that_ends_soon_is_told(cluster: Cluster, tmp_path: Path) -> None:
    authority = Authority.create("short", now=clock.now(), days=10)
    pair = authority.serving(["localhost"], now=clock.now(), days=10)
    async with beside(cluster, tmp_path, pair=pair) as webhook:
        assert await fires(webhook, {}, "PenstockWebhookCertificateExpires", beside=LEADS)


async def test_large_reviews_flood_the_webhook(cluster: Cluster, tmp_path: Path) -> None:
    async with beside(cluster, tmp_path) as webhook:
        before = await samples_of(webhook)
        wires = [await opened(cluster, webhook) for _ in range(20)]
        for wire in wires:
            wire.send(head(LIMIT) + b" " * (LIMIT - 1))
        assert await fires(webhook, before, "PenstockWebhookFlooded", beside=LEADS)
        for wire in wires:
            wire.close()


async def opened(cluster: Cluster, webhook: Program) -> Wire:
    """A connection to the webhook."""
    port = webhook.port("reviews")
    assert port is not None
    context = ssl.create_default_context(cadata=cluster.sandbox.ca_pem.decode())
    return await Wire.open(Address("127.0.0.1", port), context)


async def test_a_default_class_that_is_not_there_is_missing(cluster: Cluster, tmp_path: Path) -> None:
    async with cluster.sandbox.client() as client:
        await apply(client, rights_of("runtime-class"))
    async with beside(cluster, tmp_path, options=["--runtime-classes", "--default-runtime-class=absent"]) as webhook:
        assert await fires(webhook, {}, "PenstockRuntimeClassMissing", beside=LEADS)


async def test_a_policy_that_cannot_be_read_is_not_in_effect(cluster: Cluster, tmp_path: Path) -> None:
    """Such as one that was stored before its kind refused it."""
    async with cluster.sandbox.client() as client:
        await apply(client, rights_of("pod-policies"))
    faulty = cluster_pod_policy("old", affinity=node_terms({}))
    listed = {"kind": "List", "metadata": {"resourceVersion": "1"}, "items": [faulty]}

    async def answer(_: Request) -> Reply:
        return Reply(200, orjson.dumps(listed), "application/json")

    async with through(cluster, "penstock-webhook", tmp_path) as (proxy, kubeconfig):
        policies = about(f"{OURS}/clusterpodschedulingpolicies")
        proxy.on(lambda request: policies(request) and "sendInitialEvents" in request.path, unserved)
        proxy.on(lambda request: policies(request) and not request.is_watch, answer)
        async with beside(cluster, tmp_path, kubeconfig, ["--pod-policies"]) as webhook:
            assert await fires(webhook, {}, "PenstockPolicyNotInEffect", beside=LEADS)


def rights_of(component: str) -> list[dict[str, object]]:
    """What a component lets the webhook read."""
    found = load_documents(CONFIG / "components" / component)
    return [one for one in found if one["apiVersion"].startswith("rbac")]


async def test_a_database_that_is_away_is_told(cluster: Cluster, team: Team, tmp_path: Path) -> None:
    options = ["--history", f"postgresql://nobody:{PASSWORD}@127.0.0.1:9/nothing"]
    async with instead(cluster, tmp_path, options=options) as controller:
        await controller.wait_ready()
        before = await until_leads(controller)
        await team.ready({"spot": {"cpu": 2}})
        await team.pod("kept")
        await team.until_bound("kept")
        assert await fires(controller, before, "PenstockHistoryNotWritten")


async def test_receivers_that_refuse_are_told(cluster: Cluster, team: Team, tmp_path: Path) -> None:
    async with (
        a_server(Receiver(usual=404)) as server,
        instead(cluster, tmp_path, options=["--notifications", str(tmp_path / "notifications.yaml")]) as controller,
    ):
        routes = [a_route(namespaces=[team.namespace])]
        receiver = a_receiver(url=server.url(), headers={"Authorization": f"Bearer {TOKEN}"})
        await asyncio.to_thread(a_file, tmp_path, {"receivers": [receiver], "routes": routes})
        await controller.wait_ready()
        before = await until_leads(controller)
        await eventually(lambda: b"notifications_read" in controller.log.read_bytes(), message="it is not read")
        await team.ready({"spot": {"cpu": 2}})
        await team.pod("told")
        await team.until_bound("told")
        assert await fires(controller, before, "PenstockNotificationsFail")


async def test_a_file_of_receivers_that_is_wrong_is_told(cluster: Cluster, tmp_path: Path) -> None:
    file = await asyncio.to_thread(
        a_file, tmp_path, {"receivers": [a_receiver(headers={"Authorization": f"Bearer {TOKEN}"})], "routes": "none"}
    )
    async with instead(cluster, tmp_path, options=["--notifications", str(file)]) as controller:
        await controller.wait_ready()
        await until_leads(controller)
        assert await fires(controller, {"penstock_leading": 1}, "PenstockNotificationsFileFaulty")

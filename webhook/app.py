"""The composition root of the webhook: look-ups by list+watch, the admission server, the observability server."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import dataclass
from functools import partial
from typing import Any

from controller.cache.pod_policies import Policies, PolicySink, read_cluster_policy, read_policy
from controller.core.keys import GROUP, VERSION
from controller.kube import config
from controller.kube.client import Client
from controller.kube.decode import decode_metadata, decode_runtime_class
from controller.kube.watch import Informer, Trouble
from controller.telemetry import http, logs
from webhook import runtime_classes
from webhook.cluster_world import ClusterWorld, Lookups
from webhook.runtime_classes import KnownClasses
from webhook.server import WebhookMetrics, admission
from webhook.tls import Certificate

_log = logs.get("app")

_OURS = f"/apis/{GROUP}/{VERSION}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What can be set from outside."""

    kubeconfig: str | None
    context: str | None
    address: http.Address
    http_address: http.Address
    runtime_classes: bool = False
    default_runtime_class: str | None = None
    pod_policies: bool = False

    @property
    def judges_runtime_classes(self) -> bool:
        """Whether RuntimeClasses are read at all: a default is worth nothing without them."""
        return self.runtime_classes or self.default_runtime_class is not None


async def run(settings: Settings, certificate: Certificate) -> None:
    """Serve until SIGTERM or SIGINT; raises ConfigError or AddressError when it cannot begin."""
    load = partial(config.load, settings.kubeconfig, settings.context)
    async with Client(await load(), user_agent="penstock-webhook", reload=load) as client:
        await _serve(client, settings, certificate)


async def _serve(client: Client, settings: Settings, certificate: Certificate) -> None:
    classes = KnownClasses(settings.default_runtime_class) if settings.judges_runtime_classes else None
    world, metrics = ClusterWorld(classes, report=_report_faulty_policy), WebhookMetrics()
    informers = [
        _informer(client, "/api/v1/namespaces", world.namespaces),
        _informer(client, f"{_OURS}/localqueues", world.local_queues),
        *(_policy_informers(client, world.policies) if settings.pod_policies else ()),
    ]
    if classes is not None:
        informers.append(
            Informer(client, runtime_classes.PATH, decode=decode_runtime_class, sink=classes, report=_report)
        )

    def missing() -> str | None:
        names = [informer.resource for informer in informers if not informer.synced.is_set()]
        return f"not listed yet: {', '.join(names)}" if names else None

    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    reviews = admission(world, metrics, ready=lambda: missing() is None, completed=partial(world.completed, client))
    observing = http.endpoints(metrics.registry, ready=missing, healthy=lambda: None)
    async with (
        http.serving(observing, settings.http_address) as observed,
        http.serving(reviews, settings.address, ssl_context=certificate.context) as address,
        asyncio.TaskGroup() as group,
    ):
        _log.info("listening", what="http", host=observed.host, port=observed.port)
        _log.info("listening", what="reviews", host=address.host, port=address.port)
        tasks = [group.create_task(informer.run(), name=f"watch-{informer.resource}") for informer in informers]
        tasks.append(group.create_task(certificate.watch(), name="certificate"))
        await stop.wait()
        _log.info("stopping")
        for task in tasks:
            task.cancel()


def _informer(client: Client, path: str, sink: Lookups) -> Informer[Any]:
    return Informer(client, path, decode=decode_metadata, sink=sink, report=_report)


def _policy_informers(client: Client, policies: Policies) -> list[Informer[Any]]:
    return [
        Informer(
            client,
            f"{_OURS}/{plural}",
            decode=decode,
            sink=PolicySink(policies, cluster_wide=cluster_wide),
            report=_report,
        )
        for plural, decode, cluster_wide in (
            ("clusterpodschedulingpolicies", read_cluster_policy, True),
            ("podschedulingpolicies", read_policy, False),
        )
    ]


def _report_faulty_policy(fault: str) -> None:
    _log.warning("policy_not_in_effect", error=fault)


def _report(trouble: Trouble) -> None:
    _log.warning("watch_trouble", resource=trouble.resource, cause=trouble.cause, error=trouble.text)

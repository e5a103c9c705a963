"""The composition root of the webhook: look-ups by list+watch, the admission server, the observability server."""

from __future__ import annotations

import asyncio
import signal
from functools import partial

from controller.kube import config
from controller.kube.client import Client
from controller.telemetry import http, logs
from controller.telemetry.tls import Certificate, Clients
from webhook.metrics import WebhookMetrics
from webhook.server import admission
from webhook.settings import Settings
from webhook.trust.own_certificate import OwnCertificate
from webhook.world import sources
from webhook.world.account_policies import AccountPolicies
from webhook.world.cluster import ClusterLookups
from webhook.world.runtime_classes import KnownClasses

_log = logs.get("app")


async def run(settings: Settings, secured: Certificate | Clients) -> None:
    """Serve until SIGTERM or SIGINT; raises ConfigError or AddressError when it cannot begin.

    `secured` is a certificate in files, or whom a certificate of our own serves.
    """
    load = partial(config.load, settings.kubeconfig, settings.context)
    async with Client(await load(), user_agent="penstock-webhook", reload=load) as client:
        if isinstance(secured, Clients):
            namespace = await asyncio.to_thread(config.namespace, settings.kubeconfig, settings.context)
            await _serve(client, settings, OwnCertificate(client, namespace, secured))
        else:
            await _serve(client, settings, secured)


async def _serve(client: Client, settings: Settings, certificate: Certificate | OwnCertificate) -> None:
    world, metrics = _world(settings), WebhookMetrics()
    informers = sources.informers(client, world, settings)
    missing = partial(sources.missing, informers)

    def unready() -> str | None:
        return missing() or certificate.missing()

    def refresh() -> None:
        metrics.sources.refresh(informers)
        metrics.certificate_expires.set(certificate.expires())
        metrics.refresh_faulty(world.faulty_policies())
        metrics.forget_policies(world.policy_entries())
        # a class that is not listed yet is not missing
        metrics.refresh_missing_defaults(world.missing_default_classes() if missing() is None else ())

    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    reviews = admission(world, metrics, ready=lambda: missing() is None, completed=partial(world.completed, client))
    observing = http.endpoints(metrics.registry, ready=unready, healthy=lambda: None, refresh=refresh)
    async with (
        http.serving(observing, settings.http_address) as observed,
        http.serving(reviews, settings.address, tls=certificate) as address,
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


def _world(settings: Settings) -> ClusterLookups:
    classes = KnownClasses(settings.default_runtime_class) if settings.judges_runtime_classes else None
    accounts = None
    if settings.scheduling_policies:
        accounts = AccountPolicies(settings.scheduling_policy_merge, _report_faulty_policy)
    return ClusterLookups(
        classes,
        accounts,
        report=_report_faulty_policy,
        trusted_users=settings.trusted_users,
        template_controllers=settings.template_controllers,
        break_glass_group=settings.break_glass_group,
    )


def _report_faulty_policy(fault: str) -> None:
    _log.warning("policy_not_in_effect", error=fault)

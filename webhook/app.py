"""The composition root of the webhook: look-ups by list+watch, the admission server, the observability server."""

from __future__ import annotations

import asyncio
import copy
import signal
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from controller.cache.pod_policies import Policies, PolicySink, read_cluster_policy, read_policy
from controller.core.keys import GROUP, VERSION
from controller.core.pod_policies import Policy, Target
from controller.kube import config
from controller.kube.client import Client
from controller.kube.decode import decode_metadata, decode_runtime_class
from controller.kube.watch import Informer, Trouble
from controller.kube.wire import Owned
from controller.telemetry import http, logs
from webhook import runtime_classes
from webhook.review import Request
from webhook.runtime_class_step import choose
from webhook.runtime_classes import KnownClasses, ask
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


class Lookups:
    """Metadata of one kind by (namespace, name), kept by an informer."""

    def __init__(self) -> None:
        self._labels: dict[tuple[str, str], Mapping[str, str]] = {}

    def replace(self, items: Iterable[Owned]) -> None:
        """All objects there are."""
        self._labels = {(item.namespace, item.name): item.labels or {} for item in items}

    def upsert(self, item: Owned) -> None:
        """One object is new or changed."""
        self._labels[(item.namespace, item.name)] = item.labels or {}

    def remove(self, item: Owned) -> None:
        """One object is gone."""
        self._labels.pop((item.namespace, item.name), None)

    def get(self, namespace: str, name: str) -> Mapping[str, str] | None:
        """Return the labels of an object, None when there is none."""
        return self._labels.get((namespace, name))


class ClusterWorld:
    """The World of a live cluster."""

    def __init__(self, runtime_classes: KnownClasses | None = None) -> None:
        self.namespaces = Lookups()
        self.local_queues = Lookups()
        self.runtime_classes = runtime_classes
        self.policies = Policies(_report_faulty_policy)

    def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        """Labels of a namespace; empty when it is not known."""
        return self.namespaces.get("", namespace) or {}

    def has_local_queue(self, namespace: str, name: str) -> bool:
        """Whether this LocalQueue exists."""
        return self.local_queues.get(namespace, name) is not None

    async def completed(self, client: Client, request: Request) -> ClusterWorld:
        """Return this world with the class that the pod is to have, when only the apiserver knows it yet."""
        choice = choose(request, self)
        if choice is None or self.runtime_classes is None or self.runtime_classes.get(choice.name) is not None:
            return self
        found = await ask(client, choice.name)
        if found is None:
            return self
        more = copy.copy(self)
        more.runtime_classes = self.runtime_classes.and_also(found)
        return more

    def pod_policies(self, namespace: str) -> tuple[Policy, ...]:
        """The policies that may concern pods of this namespace, in order."""
        return self.policies.of(namespace)

    def template_policies(self, namespace: str) -> tuple[Policy, ...]:
        """The policies that may concern templates of pods in this namespace, in order."""
        return self.policies.of(namespace, Target.POD_TEMPLATES)


async def run(settings: Settings, certificate: Certificate) -> None:
    """Serve until SIGTERM or SIGINT; raises ConfigError or AddressError when it cannot begin."""
    load = partial(config.load, settings.kubeconfig, settings.context)
    async with Client(await load(), user_agent="penstock-webhook", reload=load) as client:
        await _serve(client, settings, certificate)


async def _serve(client: Client, settings: Settings, certificate: Certificate) -> None:
    classes = KnownClasses(settings.default_runtime_class) if settings.judges_runtime_classes else None
    world, metrics = ClusterWorld(classes), WebhookMetrics()
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

"""Where the webhook's world comes from: one informer a resource, and what is logged when one has trouble.

While a source is away, what it brought last serves on: its metrics say since when. Before its first list nothing is
answered at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Raw

from controller.cache.policies.access import binding_sink, role_sink
from controller.cache.policies.pod_policies import PolicySink
from controller.core.keys import GROUP, VERSION
from controller.kube.client import Client
from controller.kube.decode import decode_metadata, decode_priority_class, decode_runtime_class
from controller.kube.decode_queues import decode_cluster_queue, decode_local_queue
from controller.kube.decode_rbac import BINDINGS, ROLES, decode_binding, decode_role
from controller.kube.watch import Informer, Sink, Trouble
from controller.objects.pod_policies import read_cluster_policy, read_policy
from controller.objects.scheduling_policies import read_scheduling_policy
from controller.telemetry import logs
from webhook.settings import Settings
from webhook.world import runtime_classes
from webhook.world.account_policies import AccountPolicies
from webhook.world.cluster import NAMESPACES, ClusterLookups

_log = logs.get("sources")

_OURS = f"/apis/{GROUP}/{VERSION}"

_Source = tuple[str, Callable[[Raw], Any], Sink[Any]]
"""(path of the collection, how one object is read, who keeps it)."""


def informers(client: Client, world: ClusterLookups, settings: Settings) -> list[Informer[Any]]:
    """Make an informer for every resource that the settings ask for."""
    return [
        Informer(client, path, decode=decode, sink=sink, report=_report) for path, decode, sink in _all(world, settings)
    ]


def missing(sources: list[Informer[Any]]) -> str | None:
    """Say which resources are not listed yet; None when all are."""
    names = [source.resource for source in sources if not source.synced.is_set()]
    return f"not listed yet: {', '.join(names)}" if names else None


def _all(world: ClusterLookups, settings: Settings) -> Iterator[_Source]:
    yield NAMESPACES, decode_metadata, world.namespaces
    yield f"{_OURS}/localqueues", decode_local_queue, world.local_queues
    yield f"{_OURS}/clusterqueues", decode_cluster_queue, world.cluster_queues
    if world.priority_classes is not None:
        yield f"{_OURS}/workloadpriorityclasses", decode_metadata, world.priority_classes
    if world.runtime_classes is not None:
        yield runtime_classes.PATH, decode_runtime_class, world.runtime_classes
    if settings.pod_policies:
        wide, own = (PolicySink(world.policies, cluster_wide=cluster_wide) for cluster_wide in (True, False))
        yield f"{_OURS}/clusterpodschedulingpolicies", read_cluster_policy, wide
        yield f"{_OURS}/podschedulingpolicies", read_policy, own

    if world.account_policies is not None:
        yield from _for_scheduling_policies(world.account_policies)


def _for_scheduling_policies(accounts: AccountPolicies) -> Iterator[_Source]:
    yield f"{_OURS}/schedulingpolicies", read_scheduling_policy, accounts.policies
    yield "/apis/scheduling.k8s.io/v1/priorityclasses", decode_priority_class, accounts.priority_classes
    for number, cluster_wide in enumerate((False, True)):
        yield ROLES[number], decode_role, role_sink(accounts.access, cluster_wide=cluster_wide)
        yield BINDINGS[number], decode_binding, binding_sink(accounts.access, cluster_wide=cluster_wide)


def _report(trouble: Trouble) -> None:
    _log.warning("watch_trouble", resource=trouble.resource, cause=trouble.cause, error=trouble.text)

"""All resources of the visibility API."""

from __future__ import annotations

from controller.cache.cluster import ClusterCache
from controller.extension_api.pacing import Turns
from controller.extension_api.queueing.accuracy import forecast_accuracy
from controller.extension_api.queueing.copies import Copies
from controller.extension_api.queueing.explanations import Explaining, explanations
from controller.extension_api.queueing.history_reads import HistoryReads, absent
from controller.extension_api.queueing.nodes import flavors_and_nodes
from controller.extension_api.queueing.order import queue_shares, workload_orders
from controller.extension_api.queueing.pending import pending_workloads
from controller.extension_api.queueing.pod_runs import PLURAL as RUNS
from controller.extension_api.queueing.pod_runs import pod_runs
from controller.extension_api.queueing.pods import queue_pods
from controller.extension_api.queueing.queues import cluster_queues, local_queues
from controller.extension_api.queueing.remedies import remedies_of
from controller.extension_api.queueing.simulations import simulations
from controller.extension_api.queueing.sources import Sources, cache_sources
from controller.extension_api.queueing.usage_reports import CLUSTER_PLURAL as CLUSTER_REPORTS
from controller.extension_api.queueing.usage_reports import PLURAL as REPORTS
from controller.extension_api.queueing.usage_reports import usage_reports
from controller.extension_api.queueing.waiting_reasons import waiting_reasons
from controller.extension_api.queueing.world import World
from controller.extension_api.resources import Registry
from controller.forking import Forks
from controller.visibility.start_forecasts import StartForecasts


def resources(
    cache: ClusterCache,
    forecasts: StartForecasts,
    turns: Turns,
    forks: Forks,
    sources: Sources = lambda: (),
    history: HistoryReads | None = None,
) -> Registry:
    """Return them, reading this cache and these forecasts when they are asked, and copies for what takes long.

    `sources` are what keeps up the cache. `history` reads what pods have used; None: nobody keeps that.
    """
    world, copies = World(cache, forecasts, turns), Copies(cache, forks)
    explaining = Explaining(world)
    return Registry(
        (
            cluster_queues(world),
            local_queues(world),
            *pending_workloads(world),
            *waiting_reasons(world, copies),
            explanations(explaining),
            remedies_of(explaining, copies),
            forecast_accuracy(forecasts),
            queue_pods(world),
            workload_orders(world),
            queue_shares(world),
            *flavors_and_nodes(world),
            simulations(cache, copies),
            cache_sources(sources),
            *(() if history is None else (pod_runs(history), *usage_reports(history))),
        ),
        absent(RUNS, REPORTS, CLUSTER_REPORTS),
    )

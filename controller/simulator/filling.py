"""A cache filled with a world, as a controller's is that has just listed everything."""

from __future__ import annotations

from controller.cache.cluster import ClusterCache
from controller.cache.sinks import PodSink
from controller.core.workloads.pods import Pod
from controller.objects.budgets import Remembered as BudgetSum
from controller.simulator.world import World


def filled(world: World) -> ClusterCache:
    """Return a cache of its own that knows the world, at its time."""
    cache = ClusterCache(_nobody, backfill_depth=world.backfill_depth)
    cache.resources.rules = world.resources
    for name, labels in world.namespaces.items():
        cache.set_namespace(name, labels)
    for node in world.nodes.values():
        cache.put_node(node)
    for name, flavor in world.flavors.items():
        cache.clocks.stock_outs.restore(name, world.dry_spells.get(name))
        cache.set_flavor(name, flavor)
    _fill_queues(cache, world)
    for key, group in world.pod_groups.items():
        cache.set_pod_group(key, group)
    for uid, job in world.jobs.items():
        cache.set_job(uid, job)
    # pods come last: a queue or node that came later would move what is known of thousands
    for _ in PodSink(cache).replace(shown_pods(world)):
        pass
    cache.advance(world.now)
    return cache


def shown_pods(world: World) -> list[Pod]:
    """Return the pods there are, without Jobs that were admitted as a whole and have pods: these go on as they are."""
    every = world.pods.values()
    shown = {pod.admitted_with for pod in every}
    return [pod for pod in every if not (pod.is_job and pod.is_admitted and pod.uid in shown)]


def _fill_queues(cache: ClusterCache, world: World) -> None:
    by_queue: dict[str, dict[str, BudgetSum]] = {}
    for (queue, budget), known in world.budgets.items():
        by_queue.setdefault(queue, {})[budget] = known
    for queue, sums in by_queue.items():
        cache.budgets.remember(queue, sums)
    for name in {**world.faulty, **world.queues}:
        written = world.queues.get(name)
        fault = world.faulty.get(name)
        if written is None:
            cache.set_cluster_queue(name, None, fault=fault)
        else:
            cache.set_cluster_queue(name, written.queue, variation=written.variation, fault=fault)
    for key, local in world.local_queues.items():
        if key in world.past_usage:
            cache.usage.past.restore(key, world.past_usage[key])
        cache.usage.past.note(key, local.cluster_queue)
        cache.set_local_queue(key, local)
    for name, value in world.priority_classes.items():
        cache.move(cache.positions.set_class(name, value, world.class_run_times.get(name, 0)))


def _nobody() -> None:
    """Nobody is woken by a change: a simulation decides after each step of its time."""

"""Forecasts that a command makes itself: it plays the queues of a cluster or of a file forward."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from controller.cli.asking import Answer, Source
from controller.cli.played import play
from controller.cli.targets import nothing_named
from controller.core.workloads.pods import Phase, Pod
from controller.runtime.operator_action_targets import Target
from controller.simulator.eta import Eta, Forecasts, Unknown
from controller.simulator.runtimes import seeds_of
from controller.simulator.world import World
from controller.visibility.start_forecasts import start_row
from controller.visibility.start_rows import EtaRow
from controller.visibility.targets import all_targets, pods_named


def simulated(source: Source, targets: Sequence[Target], seconds: float, seed: int, runs: int) -> Answer[EtaRow]:
    """Simulate what the cluster, or a file, has. Raises ClickException and KubeError."""
    world = source.world()
    uids = _uids(world, targets, source.namespaces)
    forecasts = Forecasts(world, uids, horizon=seconds)
    play(runs, _each(forecasts, seed, runs))
    found = forecasts.results()
    rows = [_row(world.pods[uid], one, world.now) for uid, one in zip(uids, found, strict=True)]
    return Answer(rows, world.now)


def _uids(world: World, targets: Sequence[Target], namespaces: Sequence[str] | None) -> list[str]:
    """Return the pods that are meant, of these namespaces; without targets all that wait, the oldest first."""
    there = [one for one in world.pods.values() if namespaces is None or one.namespace in namespaces]
    if not targets:
        waiting = (pod for pod in there if pod.phase is Phase.QUEUED)
        return [pod.uid for pod in sorted(waiting, key=lambda pod: (pod.created, pod.key))]
    return list(dict.fromkeys(uid for target in targets for uid in _meant(world, there, target, namespaces)))


def _meant(world: World, there: Sequence[Pod], target: Target, namespaces: Sequence[str] | None) -> Iterator[str]:
    found = pods_named(there, world.jobs, target.kind, target.name)
    if not found:
        waiting = [one for one in there if one.phase is Phase.QUEUED]
        raise nothing_named(target, all_targets(waiting, world.jobs, namespaces), namespaces)
    yield from (
        pod.uid for pod in sorted(found, key=lambda pod: pod.key) if target.kind == "pod" or not pod.is_finished
    )


def _each(forecasts: Forecasts, seed: int, runs: int) -> Iterator[tuple[float, ...]]:
    """Simulate so many times; a simulation is done when it comes, and yields no parts."""
    for one in seeds_of(seed, runs):
        forecasts.run(one)
        yield ()


def _row(pod: Pod, one: Eta | Unknown, now: float) -> EtaRow:
    return EtaRow(pod.namespace, pod.name, pod.queue or "", start_row(one, now, names_others=True))

"""The cluster of a scenario: objects as JSON, the cache that reads them, and decisions until nothing moves any more.

All goes the way it goes in the controller: documents are decoded by `kube.decode` and `objects.read`, handed over by
`cache.sinks`, decided on by the one `decide`, and released by the real release patch, which is applied to the document
as the apiserver applies it. What this stands in for is the apiserver, the executor and the clock.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import orjson
from msgspec import Raw

from controller.cache import sinks
from controller.cache.cluster import ClusterCache
from controller.cache.written import Written
from controller.core.decision.decide import decide
from controller.core.explaining.wording import describe
from controller.core.gate.release_patch import Admission, release_patch
from controller.core.keys import CONDITION
from controller.core.kubernetes.quota_resources import AS_REQUESTED, QuotaResources
from controller.core.reasons import Reason
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Admit, Evict, Plan
from controller.core.workloads.pods import Phase, Pod
from controller.kube.clock import rfc3339
from controller.kube.decode import PodDecoder, decode_metadata, decode_node
from controller.kube.decode_jobs import JobDecoder
from controller.kube.decode_owners import decode_pod_group
from controller.objects.read import Read, read_cluster_queue, read_flavor, read_local_queue, read_priority_class
from controller.replay.as_written import as_written
from controller.replay.snapshot_file import CAN_READ, from_bytes, read_saved, to_bytes
from controller.runtime.local_queue_status import local_queue_status
from controller.runtime.queue_status import cluster_queue_status
from controller.runtime.status import flavor_status
from controller.simulator.filling import filled
from controller.simulator.rest import decide_to_rest
from controller.simulator.world import world_of
from tests.scenarios.model import Json
from tests.support.json_patch import patched
from tests.support.snapshots import changed, without_memory

_UNLIMITED = 10_000
_FULL_PASS_SECONDS = 10.0
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
_decode_job = JobDecoder(PodDecoder())
"""As the executor: a refused release is tried again after 1 s, then twice that, at most a minute."""

_READERS = {
    "ResourceFlavor": read_flavor,
    "ClusterQueue": read_cluster_queue,
    "LocalQueue": read_local_queue,
    "WorkloadPriorityClass": read_priority_class,
}


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a pod waits, as people read it."""

    reason: Reason
    text: str


class ShortcutDiffers(Exception):
    """What the incremental decision left waiting is admitted by a look at everything, or by a restarted controller."""


@dataclass
class _Mind:
    """What a controller has in memory, and a restart loses."""

    resources: QuotaResources = AS_REQUESTED
    cache: ClusterCache = field(default_factory=lambda: ClusterCache(lambda: None))
    written: Written = field(default_factory=Written)

    def __post_init__(self) -> None:
        self.cache.resources.rules = self.resources
        self.decode = PodDecoder(resources=self.resources)
        self.nodes = sinks.NodeSink(self.cache)

    def read(self, kind: str, document: Json) -> Read:
        """Take one of our objects in."""
        read = _READERS[kind](Raw(orjson.dumps(document)))
        self._sink(kind).upsert(read)
        return read

    def forget(self, kind: str, document: Json) -> None:
        """One of our objects is gone."""
        self._sink(kind).remove(decode_metadata(orjson.dumps(document)))

    def _sink(self, kind: str) -> sinks.ObjectSink:
        match kind:
            case "ResourceFlavor":
                return sinks.flavor_sink(self.cache, self.written)
            case "ClusterQueue":
                return sinks.cluster_queue_sink(self.cache, self.written)
            case "WorkloadPriorityClass":
                return sinks.priority_class_sink(self.cache, self.written)
            case _:
                return sinks.local_queue_sink(self.cache, self.written)


class Cluster:
    """Documents by name, and a controller that has read them. `now` is in epoch seconds."""

    def __init__(self, now: float) -> None:
        self.now = now
        self.objects: dict[tuple[str, str], Json] = {}
        self.namespaces: dict[str, dict[str, str]] = {}
        self.nodes: dict[str, Json] = {}
        self.jobs: dict[str, Json] = {}
        self.pod_groups: dict[str, Json] = {}
        self.pods: dict[str, Json] = {}
        self.evicted: dict[str, str] = {}
        self.refused: dict[str, str] = {}
        self._mind = _Mind()
        self._version = 0
        self._looked_at = now
        self._retries: dict[str, float] = {}

    @property
    def cache(self) -> ClusterCache:
        """What the controller knows."""
        return self._mind.cache

    @property
    def written(self) -> Written:
        """Our objects as the controller read them, for their status."""
        return self._mind.written

    def count_by(self, resources: QuotaResources) -> None:
        """Let the controller begin with other resources of quota."""
        self._mind = _Mind(resources)

    # -- what happens ----------------------------------------------------------------------------------------------

    def put_object(self, kind: str, key: str, document: Json) -> str | None:
        """Create or change one of our objects; return the fault that keeps it from being read."""
        former = self.objects.get((kind, key))
        metadata = {**document["metadata"], "uid": key, "generation": 1}
        if former is not None:
            metadata["generation"] = former["metadata"]["generation"] + 1
        status = {} if former is None else former.get("status", {})
        self.objects[kind, key] = {**document, "metadata": metadata, "status": status}
        return self._mind.read(kind, self.objects[kind, key]).entry.fault

    def drop_object(self, kind: str, key: str) -> None:
        """Delete one of our objects."""
        self._mind.forget(kind, self.objects.pop((kind, key)))

    def put_namespace(self, name: str, labels: dict[str, str] | None) -> None:
        """Create, change or (None) delete a namespace."""
        if labels is None:
            self.namespaces.pop(name, None)
        else:
            self.namespaces[name] = labels
        self.cache.set_namespace(name, labels)

    def put_node(self, name: str, document: Json) -> None:
        """Create or change a node."""
        self.nodes[name] = document
        self._mind.nodes.upsert(decode_node(orjson.dumps(document)))

    def drop_node(self, name: str) -> None:
        """Remove a node; what ran there stays until somebody deletes it."""
        del self.nodes[name]
        self.cache.drop_node(name)

    def put_job(self, key: str, document: Json | None) -> None:
        """Create, change or (None) delete a Job; its pods stay until somebody deletes them."""
        if document is None:
            sinks.JobSink(self.cache).remove(decode_metadata(orjson.dumps(self.jobs.pop(key))))
        else:
            self.jobs[key] = document
            sinks.JobSink(self.cache).upsert(_decode_job(orjson.dumps(document)))

    def put_pod_group(self, key: str, document: Json | None) -> None:
        """Create, make anew or (None) delete a PodGroup of Kubernetes."""
        sink = sinks.PodGroupSink(self.cache)
        if document is None:
            sink.remove(decode_metadata(orjson.dumps(self.pod_groups.pop(key))))
        else:
            self.pod_groups[key] = document
            sink.upsert(decode_pod_group(orjson.dumps(document)))

    def put_pod(self, document: Json) -> None:
        """Create or change a pod."""
        self._version += 1
        metadata = {**document["metadata"], "resourceVersion": str(self._version)}
        metadata["generation"] = metadata.get("generation", 0) + 1
        self.pods[metadata["name"]] = {**document, "metadata": metadata}
        self.cache.put_pod(self._read(self.pods[metadata["name"]]))

    def drop_pod(self, name: str) -> None:
        """Take a pod away at once."""
        self.cache.drop_pod(self.pods.pop(name)["metadata"]["uid"])

    def pod(self, name: str) -> Pod:
        """Return a pod as the controller reads it."""
        return self._read(self.pods[name])

    def restart(self) -> None:
        """Forget all that is not in the apiserver, and list it."""
        self._mind = self._fresh()
        self._retries.clear()
        self._looked_at = self.now

    # -- what comes of it ------------------------------------------------------------------------------------------

    def settle(self) -> list[tuple[str, Admit]]:
        """Decide until nothing moves; return who was released, by name, in order. `evicted` has who was evicted.

        Then look at everything anew, as the controller does every 10 s, which admits nobody else and brings the
        figures of the sentences up to date; a controller that starts now must find nothing either.
        """
        self.evicted = {}
        for name in [name for name, at in self._retries.items() if at <= self.now]:
            del self._retries[name]
            if name in self.pods:
                self.cache.retry(self.pods[name]["metadata"]["uid"])
        if self.now - self._looked_at >= _FULL_PASS_SECONDS:
            self._look_anew()
        released = self._decide_to_rest()
        self._look_anew()
        more = [name for name, _ in self._decide_to_rest()]
        if more:
            raise ShortcutDiffers(f"a look at everything admits {', '.join(more)}; the incremental decision did not")
        self._write_statuses()
        self._compare_with_restarted()
        return released

    def waits(self) -> dict[str, Waiting]:
        """Who waits, by name, and why."""
        backlog = {name: self.cache.backlog.of_pod(pod["metadata"]["uid"]) for name, pod in self.pods.items()}
        waiting = ((name, one) for name, one in backlog.items() if one is not None)
        found = ((name, one, self.cache.reasons.of(one.kind).of(one.uid)) for name, one in waiting)
        return {name: Waiting(wait.reason, describe(wait, one.since, uid=one.uid)) for name, one, wait in found}

    def _write_statuses(self) -> None:
        """A controller that starts goes on from what the statuses say of budgets and dry spells: they are written."""
        for name, entry in self.written.flavors.items():
            found = self.objects["ResourceFlavor", name[1]]
            status = flavor_status(self.cache, entry, self.now)
            self.objects["ResourceFlavor", name[1]] = {**found, "status": status}
        for (kind, key), document in self.objects.items():
            if kind == "ClusterQueue":
                entry = self.written.cluster_queues["", key]
                status = {**document.get("status", {}), **cluster_queue_status(self.cache, entry, self.now)}
                self.objects[kind, key] = {**document, "status": status}
                self._mind.read(kind, self.objects[kind, key])
            elif kind == "LocalQueue":
                namespace, _, local = key.rpartition("/")
                door = self.written.local_queues[namespace or "default", local]
                status = {**document.get("status", {}), **local_queue_status(self.cache, door, self.now)}
                self.objects[kind, key] = {**document, "status": status}
                self._mind.read(kind, self.objects[kind, key])

    def _look_anew(self) -> None:
        self._looked_at = self.now
        self.cache.reopen_all()

    def _decide_to_rest(self) -> list[tuple[str, Admit]]:
        released: list[tuple[str, Admit]] = []
        self.cache.advance(self.now)
        snapshot = self.cache.snapshot()
        live = decide(without_memory(snapshot), limit=_UNLIMITED)
        self._compare_with_file(snapshot, live)
        self._compare_with_all(changed(snapshot, asked=()), live)
        decide_to_rest(self.cache, self.now, lambda plan: released.extend(self.carry_out(plan)))
        return released

    def carry_out(self, plan: Plan) -> list[tuple[str, Admit]]:
        """Do what a plan says that the cache has absorbed; return who was released, by name, in order."""
        for evict in plan.evicts:
            self._evict(evict)
        return [(name, admit) for admit in plan.admits if (name := self._release(admit))]

    def _evict(self, evict: Evict) -> None:
        """The apiserver, the kubelet and the job controller do at once what the Eviction API is asked for."""
        self.evicted[evict.pod.name] = f"{evict.cause.value}: {evict.text}"
        job = self.cache.jobs.get(evict.pod.owner.uid) if evict.pod.owner is not None else None
        if job is not None and not job.ignores_disruption:
            document = self.jobs[job.key]
            self.put_job(job.key, {**document, "status": {**document["status"], "failed": job.failed + 1}})
        self.cache.evictions.begin(evict)
        self.drop_pod(evict.pod.name)

    def _release(self, admit: Admit) -> str:
        """Do what the executor does with an admission; return the pod's name, or nothing where it was refused."""
        pod = self.cache.pods[admit.uid]
        refusal = self.refused.get(pod.name)
        if refusal is not None:
            times = self.cache.reject(pod.uid, refusal)
            self._retries[pod.name] = self.now + min(_FIRST_PAUSE * 2 ** (times - 1), _LONGEST_PAUSE)
            return ""
        at, preemptions = rfc3339(self.now), admit.preemptions
        run_time = self.cache.positions.run_time(pod)
        admission = Admission(admit.cluster_queue, at, "controller", preemptions, run_time)
        flavors = [self.cache.flavors[name] for name in admit.flavors or (admit.flavor,)]
        patch = release_patch(
            pod, flavors, admission, node=admit.node, domains=admit.domains, is_pinned=admit.is_pinned
        )
        self.put_pod(patched(self.pods[pod.name], patch))
        self.cache.settle(pod.uid)
        return pod.name

    def _compare_with_file(self, snapshot: Snapshot, live: Plan) -> None:
        """What a file says of the world is decided as the world is: whoever reads it sees the same."""
        if not CAN_READ:
            return
        read = decide(from_bytes(to_bytes(snapshot)), limit=_UNLIMITED)
        if read != live:
            raise ShortcutDiffers(f"a file of the world is decided otherwise:\n{live}\n{read}")

    def _compare_with_all(self, snapshot: Snapshot, live: Plan) -> None:
        """Who tests all classes at once before anybody is looked at does the same as who looks at each of them."""
        tested = decide(snapshot, index=self.cache.feasibility, limit=_UNLIMITED)
        waits = {kind: wait for kind, wait in live.waits.items() if kind in tested.waits}
        if tested != replace(live, waits=waits):
            raise ShortcutDiffers(f"a look at everybody is decided otherwise:\n{live}\n{tested}")

    def _compare_with_restarted(self) -> None:
        """The truth is in the pods: who reads them all for the first time admits nobody that we let wait.

        Not kept are refusals, which members gangs have lost, and which flavors have no node for whom: where one of
        these is remembered, whoever starts tries again, or gives the place to others.
        """
        is_any_lost = any(True for _ in self.cache.gangs.lost.places())
        is_any_lost |= any(one.shape.unschedulable for kind in self.cache.backlog.runs for one in kind.pod_sets)
        cache = self._fresh().cache
        cache.advance(self.now)
        plan = decide(cache.snapshot(), index=cache.feasibility, limit=_UNLIMITED)
        self._compare_with_simulated(cache, plan)
        if plan.evicts and not is_any_lost:
            raise ShortcutDiffers(f"a controller that starts now evicts {', '.join(e.pod.name for e in plan.evicts)}")
        more = [cache.pods[admit.uid].name for admit in plan.admits]
        if more and not is_any_lost and all(wait.reason is not Reason.PATCH_REJECTED for wait in self.waits().values()):
            raise ShortcutDiffers(f"a controller that starts now admits {', '.join(more)}")
        mine, theirs = self.cache.usage.by_queue, cache.usage.by_queue
        if mine != theirs:
            raise ShortcutDiffers(f"a controller that starts now counts {theirs}; the one that was there {mine}")

    def _compare_with_simulated(self, cache: ClusterCache, plan: Plan) -> None:
        """A simulation that begins with a file of the world is decided as a controller that starts now."""
        if not CAN_READ:
            return
        simulated = filled(world_of(read_saved(to_bytes(cache.snapshot(), as_written(cache)))))
        found = decide(simulated.snapshot(), index=simulated.feasibility, limit=_UNLIMITED)
        if found != plan or simulated.usage.by_queue != cache.usage.by_queue:
            raise ShortcutDiffers(f"a simulation from a file is decided otherwise:\n{plan}\n{found}")
        # a second time, as pods have come to their nodes meanwhile
        mine, theirs = cache.advance(self.now), simulated.advance(self.now)
        if mine != theirs:
            raise ShortcutDiffers(f"a simulation from a file expects the next change at {theirs}; the file's at {mine}")
        pasts = cache.snapshot().usage.past, simulated.snapshot().usage.past
        for used, counted in ((pasts[0].get(key), pasts[1].get(key)) for key in cache.local_queues):
            if used is not None and (counted is None or used.share() != counted.share()):
                raise ShortcutDiffers(f"a simulation from a file begins with {counted}; the file's with {used}")

    def _fresh(self) -> _Mind:
        mind = _Mind(self._mind.resources)
        for name, labels in self.namespaces.items():
            mind.cache.set_namespace(name, labels)
        for node in self.nodes.values():
            mind.nodes.upsert(decode_node(orjson.dumps(node)))
        for (kind, _), document in self.objects.items():
            mind.read(kind, document)
        for job in self.jobs.values():
            sinks.JobSink(mind.cache).upsert(_decode_job(orjson.dumps(job)))
        for one in self.pod_groups.values():
            sinks.PodGroupSink(mind.cache).upsert(decode_pod_group(orjson.dumps(one)))
        waits = self.waits()
        for name, pod in self.pods.items():
            mind.cache.put_pod(mind.decode(orjson.dumps(self._told(pod, waits[name]) if name in waits else pod)))
        return mind

    def _told(self, document: Json, wait: Waiting) -> Json:
        """Write the condition of a pod that waits, as the controller that was there had."""
        at = rfc3339(self.now)
        told = {"type": CONDITION, "status": "False", "reason": wait.reason.value, "message": wait.text}
        conditions = [{**told, "lastProbeTime": at, "lastTransitionTime": at}]
        return {**document, "status": {**document.get("status", {}), "conditions": conditions}}

    def _read(self, document: Json) -> Pod:
        return self._mind.decode(orjson.dumps(document))

    def is_queued(self, name: str) -> bool:
        """Whether the pod still carries our gate and lives."""
        return self.pod(name).phase is Phase.QUEUED

    def change_pod(self, name: str, **parts: Any) -> None:
        """Lay parts over metadata, spec and status of a pod."""
        document = self.pods[name]
        self.put_pod({**document, **{part: {**document.get(part, {}), **of_it} for part, of_it in parts.items()}})

"""What must hold of a history, whatever went wrong: each rule reads the history plainly and says what breaks it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf

from controller.core.keys import ADMITTED_AT, ADMITTED_BY, CLUSTER_QUEUE, FLAVOR, GATE, QUEUE_NAME
from controller.kube import clock
from tests.faults.seeds.history import Event, History, Json
from tests.faults.seeds.world import FLAVORS, QUEUES
from tests.support.books import Books, Share

Change = tuple[int, str, str, str, int]
"""Version, workload, queue, flavor and cpus: more when something was released, less when it ended."""
_FENCE_SECONDS = 6.0
_AT_ONCE_SECONDS = 0.5
_OURS = "penstock.dev/"


@dataclass(frozen=True, slots=True)
class Ledger:
    """The history of one team."""

    history: History
    namespace: str

    def full(self, name: str) -> str:
        """A name of the team in the cluster."""
        return f"{self.namespace}-{name}"

    def excesses(self, shares: Mapping[str, Mapping[str, Share]], since: int = 0) -> Iterator[str]:
        """Releases after this version that a quota had no place for. `shares` by flavor and short name of queue."""
        changes = sorted([*self._of_pods(), *self._of_jobs()])
        for flavor in FLAVORS:
            books = Books(shares[flavor])
            for version, workload, queue, of, cpu in changes:
                if of == self.full(flavor):
                    short = queue.removeprefix(f"{self.namespace}-")
                    found = list(books.excesses([(workload, short, cpu)]))
                    if version > since:
                        yield from (f"{flavor}: {one}" for one in found)

    def _of_pods(self) -> Iterator[Change]:
        for life in self.history.lives("pods", self.namespace):
            released = released_in(life)
            if released is None or _queue(life) not in QUEUES:
                continue
            labels, cpu = released.object["metadata"]["labels"], _cpu(released.object["spec"])
            who = (released.key[1], labels.get(CLUSTER_QUEUE, ""), labels.get(FLAVOR, ""))
            yield released.version, *who, cpu
            over = next((one for one in life if is_over(one)), None)
            if over is not None:
                yield over.version, *who, -cpu

    def _of_jobs(self) -> Iterator[Change]:
        pods = list(self.history.lives("pods", self.namespace))
        for life in self.history.lives("jobs", self.namespace):
            done = sorted(
                event.version
                for pod in pods
                if _owner(pod[0].object) == life[0].uid
                if (event := next((one for one in pod if one.object["status"].get("phase") == "Succeeded"), None))
            )
            yield from _of_job(life, done)

    def wrong_releases(self) -> Iterator[str]:
        """Releases without a recorded decision, by a controller that did not lead, or that changed what is not ours."""
        for life in self.history.lives("pods", self.namespace):
            released = released_in(life)
            if released is None:
                continue
            before, name = life[life.index(released) - 1].object, released.key[1]
            metadata = released.object["metadata"]
            stamps = {**metadata.get("labels", {}), **metadata.get("annotations", {})}
            missing = [key for key in (CLUSTER_QUEUE, FLAVOR, ADMITTED_AT, ADMITTED_BY) if key not in stamps]
            if missing:
                yield f"{name} was released without {missing}"
            elif not self._led(stamps[ADMITTED_BY], released):
                yield f"{name} was released by {stamps[ADMITTED_BY]}, who did not lead"
            if _foreign(before) != _foreign(released.object):
                yield f"{name}: its release changed what is not ours"

    def _led(self, who: str, released: Event) -> bool:
        """Whether somebody held the Lease when this was released, or within the seconds of the fence before."""
        holder = ""
        for lease in self.history.events["leases"]:
            if lease.version > released.version:
                break
            held = "" if lease.is_end else str(lease.object["spec"].get("holderIdentity") or "")
            if holder == who != held and released.at - lease.at < _FENCE_SECONDS:
                return True
            holder = held
        return holder == who

    def overtaken(self, queue: str, attempts: Mapping[str, float]) -> Iterator[str]:
        """Pods of a StrictFIFO queue that went before one that was created in an earlier second, and not tried yet.

        `attempts`: when each was first tried to be released, by uid. Those of one decision are sent at once, and one of
        them may fail and be sent again.
        """
        lives = [life for life in self.history.lives("pods", self.namespace) if _queue(life) == queue]
        for life in lives:
            released = released_in(life)
            if released is None:
                continue
            latest = attempts[life[0].uid] + _AT_ONCE_SECONDS
            for other in lives:
                is_earlier = _created(other) < _created(life) and other[0].version < life[0].version
                if is_earlier and _waited(other, released.version) and attempts.get(other[0].uid, inf) > latest:
                    yield f"{life[0].key[1]} was released before {other[0].key[1]}, which came first"

    def left(self) -> list[str]:
        """Pods and Jobs that are not over, by name, with what they say."""
        pods = [life[-1] for life in self.history.lives("pods", self.namespace)]
        jobs = [life[-1] for life in self.history.lives("jobs", self.namespace)]
        left = [pod for pod in pods if not is_over(pod) and _owner(pod.object) is None]
        left += [job for job in jobs if not job.is_end and not _is_complete(job.object)]
        return [f"{one.key[1]}: {_said(one.object)}" for one in left]


def _of_job(life: list[Event], done: list[int]) -> Iterator[Change]:
    """What a Job is charged: what is left of it, while it is not suspended."""
    charged: tuple[str, str, str] | None = None
    cpu, at, left = _cpu(life[0].object["spec"]["template"]["spec"]), 0, 0
    for event in life:
        while charged is not None and at < len(done) and done[at] < event.version:
            yield done[at], *charged, -cpu
            at, left = at + 1, left - 1
        is_held = event.object["spec"].get("suspend", False) or event.is_end
        if charged is not None and is_held:
            yield event.version, *charged, -cpu * left
            charged = None
        elif charged is None and not is_held:
            labels = event.object["metadata"].get("labels", {})
            charged = (event.key[1], labels.get(CLUSTER_QUEUE, ""), labels.get(FLAVOR, ""))
            at = sum(version < event.version for version in done)
            left = event.object["spec"]["completions"] - at
            yield event.version, *charged, cpu * left
    if charged is None:
        return
    for version in done[at:]:
        yield version, *charged, -cpu


def released_in(life: list[Event]) -> Event | None:
    """The version in which a pod has our gate no more; None: it still has it, or never had."""
    was_gated = False
    for event in life:
        is_gated = any(one["name"] == GATE for one in event.object["spec"].get("schedulingGates", ()))
        if was_gated and not is_gated:
            return None if event.is_end else event
        was_gated = is_gated
    return None


def is_over(event: Event) -> bool:
    """Whether a pod has ended, or is gone."""
    return event.is_end or event.object["status"].get("phase") in ("Succeeded", "Failed")


def _waited(life: list[Event], version: int) -> bool:
    """Whether a pod was there at this version, and waited: one that goes away without a release does not count."""
    released = released_in(life)
    if life[0].version > version:
        return False
    return not life[-1].is_end if released is None else released.version > version


def _is_complete(job: Json) -> bool:
    return any(one["type"] == "Complete" for one in job.get("status", {}).get("conditions", ()))


def _foreign(pod: Json) -> Json:
    """What of a pod is not ours to change."""
    spec, metadata = pod["spec"], pod["metadata"]
    gates = [one for one in spec.get("schedulingGates", ()) if one["name"] != GATE]
    ours = ("schedulingGates", "nodeSelector", "affinity", "tolerations")
    notes = {
        k: v for k, v in {**metadata.get("labels", {}), **metadata.get("annotations", {})}.items() if _OURS not in k
    }
    return {"gates": gates, "notes": notes, **{key: value for key, value in spec.items() if key not in ours}}


def _said(one: Json) -> str:
    conditions = one.get("status", {}).get("conditions", ())
    return "; ".join(f"{c['type']}={c['status']} {c.get('reason', '')} {c.get('message', '')}" for c in conditions)


def _cpu(spec: Json) -> int:
    return sum(int(one["resources"]["requests"]["cpu"]) for one in spec["containers"])


def _owner(pod: Json) -> str | None:
    return next((one["uid"] for one in pod["metadata"].get("ownerReferences", ()) if one["kind"] == "Job"), None)


def _queue(life: list[Event]) -> str:
    return str(life[0].object["metadata"].get("labels", {}).get(QUEUE_NAME, ""))


def _created(life: list[Event]) -> float:
    return clock.epoch(life[0].object["metadata"]["creationTimestamp"])

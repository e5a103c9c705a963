"""What the owner of a workload can change on it: holds, its place, what it asks for, what it says of itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from controller.core.kubernetes.amounts import PODS, as_requests, format_amount
from controller.core.reasons import Reason
from controller.core.workloads.shapes import Constraints, Shape
from controller.core.workloads.workload import Workload, behind
from controller.visibility.changes.change import Change, Cost
from controller.visibility.editing import Case
from controller.visibility.faults import fault_behind


class _Own(Change):
    """A change of the workload itself."""

    __slots__ = ()

    @property
    def cost(self) -> Cost:
        """Nobody else has to do anything."""
        return Cost.OWN


@dataclass(frozen=True, slots=True)
class Corrected(_Own):
    """A fault of the workload's own is gone, for which it waits with `reason`.

    `what` says what it is then, `by` which command does it.
    """

    reason: Reason
    what: str
    by: str = ""
    takes: Cost = Cost.OWN

    @property
    def cost(self) -> Cost:
        """Some faults are put right elsewhere than on the workload."""
        return self.takes

    @property
    def text(self) -> str:
        """What it is then."""
        return self.what

    @property
    def command(self) -> str:
        """Of ours, where there is one."""
        return self.by

    @property
    def key(self) -> tuple[str, ...]:
        """One fault is told at a time."""
        return "Corrected", self.reason

    def apply(self, case: Case) -> Case:
        """Let it take part in decisions, unless another fault was behind this one."""
        left = fault_behind(case.snapshot, case.workload, self.reason)
        lifted = case.with_class(replace(case.workload.kind, hold=left))
        return _reshaped(lifted, _smallest) if self.reason is Reason.INVALID_REQUESTS else lifted


@dataclass(frozen=True, slots=True)
class MoreMembers(_Own):
    """The members of a gang that do not exist yet: `count` more like its first, `group` as people name it.

    `reason`: that with which the gang waits for them.
    """

    group: str
    count: int
    reason: Reason

    @property
    def text(self) -> str:
        """How many, of which gang."""
        return f"{self.count} more member{'s' * (self.count > 1)} of {self.group}"

    @property
    def key(self) -> tuple[str, ...]:
        """The gang."""
        return "MoreMembers", self.group

    def apply(self, case: Case) -> Case:
        """Let the gang be so large, and complete."""
        first, *others = case.workload.kind.pod_sets
        grown = replace(first, count=first.count + self.count)
        left = fault_behind(case.snapshot, case.workload, self.reason)
        made = case.with_class(replace(case.workload.kind, hold=left, pod_sets=(grown, *others)))
        members = (*(f"missing-{number}" for number in range(self.count)), *case.workload.pods)
        return _with_workload(made, replace(made.workload, members=members))


@dataclass(frozen=True, slots=True)
class FirstPlace(_Own):
    """The workload goes before the others of its LocalQueue; `target` is what `penstock top` takes."""

    target: str
    namespace: str

    @property
    def text(self) -> str:
        """Where it stands then."""
        return "the first place in its LocalQueue"

    @property
    def command(self) -> str:
        """What puts it there."""
        return f"penstock top {self.target} -n {self.namespace}"

    @property
    def key(self) -> tuple[str, ...]:
        """The workload."""
        return "FirstPlace", self.namespace, self.target

    def apply(self, case: Case) -> Case:
        """Let the others of its LocalQueue that have its priority stand behind it."""
        runs = {kind: _behind(case.workload, run) for kind, run in case.snapshot.waiting.runs.items()}
        return case.with_snapshot(replace(case.snapshot, waiting=replace(case.snapshot.waiting, runs=runs)))


@dataclass(frozen=True, slots=True)
class SaysRuntime(_Own):
    """The workload says for how long it runs at most, so that a queue that backfills can let it pass."""

    seconds: int

    @property
    def text(self) -> str:
        """The annotation."""
        return f"an expected runtime of at most {self.seconds // 60} minutes (penstock.dev/expected-runtime)"

    @property
    def key(self) -> tuple[str, ...]:
        """What it says."""
        return ("SaysRuntime",)

    def apply(self, case: Case) -> Case:
        """Say so."""
        return case.with_class(replace(case.workload.kind, runtime=self.seconds))


@dataclass(frozen=True, slots=True)
class AsksForLess(_Own):
    """Each pod asks for no more than `most` of a resource, in its unit; `of`: whose largest that is."""

    resource: str
    most: int
    of: str

    @property
    def text(self) -> str:
        """How much."""
        amount = format_amount(self.resource, self.most)
        return f"a request of at most {amount} {self.resource} a pod, which is what {self.of} has"

    @property
    def key(self) -> tuple[str, ...]:
        """The resource."""
        return "AsksForLess", self.resource

    @property
    def is_of_requests(self) -> bool:
        """It asks for less."""
        return True

    def apply(self, case: Case) -> Case:
        """Lower what each pod asks for."""
        return _reshaped(case, self._lowered)

    def _lowered(self, shape: Shape) -> Shape:
        asked = dict(shape.requests)
        asked[self.resource] = min(asked.get(self.resource, 0), self.most)
        return replace(shape, requests=as_requests(asked))


@dataclass(frozen=True, slots=True)
class GoesAnywhere(_Own):
    """The pod has no node selector and no required node affinity of its own."""

    @property
    def text(self) -> str:
        """What it leaves out."""
        return "the pod without its node selector and required node affinity"

    @property
    def key(self) -> tuple[str, ...]:
        """The pod's constraints."""
        return ("GoesAnywhere",)

    def apply(self, case: Case) -> Case:
        """Leave them out."""

        def free(shape: Shape) -> Shape:
            own = shape.constraints
            return replace(shape, constraints=Constraints(tolerations=own.tolerations, only=own.only))

        return _reshaped(case, free)


@dataclass(frozen=True, slots=True)
class PrefersDomain(_Own):
    """The gang prefers to be in one domain, and does not require it."""

    @property
    def text(self) -> str:
        """Which annotation to use."""
        return "a preferred topology instead of the required one"

    @property
    def key(self) -> tuple[str, ...]:
        """The gang's topology."""
        return ("PrefersDomain",)

    def apply(self, case: Case) -> Case:
        """Let it be anywhere."""
        kind = case.workload.kind
        sets = tuple(replace(one, slices=None) for one in kind.pod_sets)
        return case.with_class(replace(kind, topology=None, pod_sets=sets))


def _smallest(shape: Shape) -> Shape:
    """Return what a pod asks for whose own requests cannot be read: what every pod does."""
    return replace(shape, requests=as_requests({**dict(shape.requests), PODS: 1}))


def _reshaped(case: Case, change: Callable[[Shape], Shape]) -> Case:
    kind = case.workload.kind
    sets = tuple(replace(one, shape=change(one.shape)) for one in kind.pod_sets)
    return case.with_class(replace(kind, pod_sets=sets))


def _with_workload(case: Case, made: Workload) -> Case:
    """Return the case in which the workload has other members, or another place."""
    runs = dict(case.snapshot.waiting.runs)
    kept = [one for one in runs[made.kind] if one.uid != made.uid]
    runs[made.kind] = sorted([*kept, made], key=lambda one: one.order)
    edited = replace(case.snapshot, waiting=replace(case.snapshot.waiting, runs=runs))
    return replace(case, snapshot=edited, workload=made)


def _behind(front: Workload, run: Sequence[Workload]) -> Sequence[Workload]:
    """Return a run in which those of the same LocalQueue and priority that were before a workload are behind it."""
    if run[0].kind.queue != front.kind.queue:
        return run
    mine = front.order
    moved = [
        replace(one, order=behind(mine, one.order)) if one.order[0] == mine[0] and one.order < mine else one
        for one in run
    ]
    return sorted(moved, key=lambda one: one.order)

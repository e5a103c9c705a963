"""Pod scheduling policies: which of them concern a pod, in which order, and what becomes of the pod.

How one policy is merged into a pod is `merging`. Mirrors the meaning of kupid's PodSchedulingPolicy, with an
order, a word on conflicts, and modes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from controller.core.kubernetes.directives import Directives
from controller.core.kubernetes.labels import LabelSelector
from controller.core.pod_policies.merging import Merge, merge


class OnConflict(StrEnum):
    """What a policy does where it contradicts a pod."""

    POD_WINS = "PodWins"
    REJECT = "Reject"


class Mode(StrEnum):
    """Whether a policy changes pods, tells who creates them, or tells the audit log alone."""

    ENFORCE = "Enforce"
    WARN = "Warn"
    AUDIT = "Audit"


class Target(StrEnum):
    """What a policy is merged into: pods, or the templates that workloads make their pods from."""

    PODS = "Pods"
    POD_TEMPLATES = "PodTemplates"


class Result(StrEnum):
    """What one policy came to for one pod. The latter three are of policies that are not enforced."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    CONFLICT = "conflict"
    REFUSED = "refused"
    WOULD_CHANGE = "would_change"
    WOULD_CONFLICT = "would_conflict"
    WOULD_REFUSE = "would_refuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One policy. `namespace` is empty for a cluster-wide one; a selector that is None selects nothing."""

    name: str
    namespace: str = ""
    priority: int = 0
    on_conflict: OnConflict = OnConflict.POD_WINS
    mode: Mode = Mode.ENFORCE
    target: Target = Target.PODS
    pods: LabelSelector | None = None
    namespaces: LabelSelector | None = None
    directives: Directives = field(default_factory=Directives)

    @property
    def title(self) -> str:
        """The policy in texts."""
        return f"PodSchedulingPolicy {self.name!r}" if self.namespace else f"ClusterPodSchedulingPolicy {self.name!r}"

    @property
    def key(self) -> str:
        """The policy in annotations and metrics, where both kinds meet."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def selects(self, namespace: str, namespace_labels: Mapping[str, str], pod_labels: Mapping[str, str]) -> bool:
        """Say whether the policy concerns a pod, or a template of pods, with these labels in this namespace."""
        return self.pods is not None and self.pods.matches(pod_labels) and self.reaches(namespace, namespace_labels)

    def reaches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Say whether pods of this namespace with these labels may be selected at all."""
        if self.namespace:
            return self.namespace == namespace
        return self.namespaces is not None and self.namespaces.matches(labels)


def contradictions(policy: Policy) -> str:
    """Say what of a policy could be given to no pod, because its own parts rule each other out; empty: nothing."""
    alone = merge(Directives(), policy.directives, is_held=False)
    return "; ".join(conflict.text for conflict in alone.conflicts)


def order_key(policy: Policy) -> tuple[bool, int, str, str]:
    """Cluster-wide first, then greater priority, then name: no two policies of a pod share a place."""
    return bool(policy.namespace), -policy.priority, policy.name, policy.namespace


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one policy came to; `result` is the verdict in a word."""

    policy: Policy
    merge: Merge
    result: Result = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "result", _result(self.policy, self.merge))

    @property
    def reasons(self) -> str:
        """Why something was left out, or the pod refused."""
        done = self.merge
        if not done.conflicts:
            return done.fault or ""
        return "; ".join((*(conflict.text for conflict in done.conflicts), *filter(None, (done.fault,))))


def _result(policy: Policy, done: Merge) -> Result:
    enforced = policy.mode is Mode.ENFORCE
    if done.fault is not None or (done.conflicts and policy.on_conflict is OnConflict.REJECT):
        return Result.REFUSED if enforced else Result.WOULD_REFUSE
    if done.conflicts:
        return Result.CONFLICT if enforced else Result.WOULD_CONFLICT
    if done.changed:
        return Result.CHANGED if enforced else Result.WOULD_CHANGE
    return Result.UNCHANGED


@dataclass(frozen=True, slots=True)
class Outcome:
    """The pod after its policies, and the verdict of each in their order. With `refusal` the pod is not created.

    `noun` is what texts call the pod: it may be a template that stands in another object.
    """

    pod: Directives
    verdicts: tuple[Verdict, ...] = ()
    noun: str = "pod"

    @property
    def refusal(self) -> str | None:
        """Why the pod is refused, for who creates it."""
        last = self.verdicts[-1] if self.verdicts else None
        if last is None or last.result is not Result.REFUSED:
            return None
        advice = f"; change the {self.noun}, or ask who keeps the policy (onConflict: Reject)"
        return f"{last.policy.title} refuses the {self.noun}: {last.reasons}{'' if last.merge.fault else advice}"


def apply(pod: Directives, policies: Iterable[Policy], *, is_held: bool, noun: str = "pod") -> Outcome:
    """Merge the policies that concern a pod into it, in their order, whatever the order in which they come.

    Each sees the pod as the enforced ones before it left it. The first refusal ends it.
    """
    verdicts: list[Verdict] = []
    for policy in sorted(policies, key=order_key):
        verdict = Verdict(policy, merge(pod, policy.directives, is_held=is_held))
        verdicts.append(verdict)
        if verdict.result is Result.REFUSED:
            break
        if policy.mode is Mode.ENFORCE:
            pod = verdict.merge.pod
    return Outcome(pod, tuple(verdicts), noun)

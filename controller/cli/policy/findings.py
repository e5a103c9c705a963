"""What would become of existing pods if every policy were enforced: counted by policy, and remembered within bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from controller.cache.pod_policies import PolicySink, ReadPolicy
from controller.cli.policy.candidates import Candidate, request_of
from controller.cli.policy.surroundings import NOT_ASKED, Surroundings
from controller.cli.policy.workloads import Unusable
from controller.core.pod_policies import Mode, Outcome, Policy
from controller.core.pod_policies import Result as PolicyResult
from webhook.cluster_world import ClusterWorld
from webhook.pod_policies_step import apply_pod_policies

_ENDED = ("Succeeded", "Failed")


class Fate(StrEnum):
    """What would become of a pod."""

    REFUSED = "refused"
    CHANGED = "changed"
    CONFLICT = "conflict"
    """Created without a part of a policy, and not changed otherwise."""
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Finding:
    """A pod that would not stay as it is, and why: (policy, words)."""

    namespace: str
    name: str
    fate: Fate
    reasons: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Tally:
    """One policy: how many pods it concerns, and what it would do to them."""

    policy: Policy
    selected: int = 0
    counts: dict[PolicyResult, int] = field(default_factory=dict)

    def count(self, result: PolicyResult) -> None:
        """One more pod."""
        self.selected += 1
        self.counts[result] = self.counts.get(result, 0) + 1


class Findings:
    """Takes pods one by one. Of each fate `bound` pods are remembered; all with None."""

    def __init__(self, surroundings: Surroundings, namespace: str | None, bound: int | None) -> None:
        self.namespace = namespace
        self.faulty = tuple(surroundings.faults)
        self.seen = 0
        self.left_out = {"finished": 0, "being deleted": 0, "not shown to the webhook": 0, "not readable": 0}
        self.fates = dict.fromkeys(Fate, 0)
        self._surroundings = surroundings
        self._bound = bound
        self._listed: dict[Fate, list[Finding]] = {fate: [] for fate in Fate}
        self._tallies = {
            policy.key: Tally(policy)
            for policy in surroundings.policies
            if namespace is None or policy.namespace in ("", namespace)
        }
        self._world = _enforcing(surroundings)

    @property
    def judged(self) -> int:
        """How many pods were judged."""
        return sum(self.fates.values())

    @property
    def refused(self) -> int:
        """How many pods would be refused."""
        return self.fates[Fate.REFUSED]

    @property
    def tallies(self) -> list[Tally]:
        """Policies in their order."""
        return list(self._tallies.values())

    @property
    def listed(self) -> list[Finding]:
        """The remembered pods, the worst first."""
        return [one for fate in Fate for one in self._listed[fate]]

    @property
    def unlisted(self) -> int:
        """How many pods would not stay as they are, and are not remembered."""
        return self.judged - self.fates[Fate.UNCHANGED] - len(self.listed)

    def add(self, pod: Mapping[str, Any], candidate: Candidate) -> None:
        """Judge a pod as it stands, or leave it out. `candidate` is the same, to be created anew."""
        self.seen += 1
        if (why := _left_out(pod, candidate)) is not None:
            self.left_out[why] += 1
            return
        self._surroundings.assume_namespace(candidate.namespace)
        try:
            request = request_of(self._where_policies_want_it(pod, candidate))
        except Unusable:
            self.left_out["not readable"] += 1
            return
        outcome = apply_pod_policies(request, self._world).outcome
        fate = _fate(outcome)
        self.fates[fate] += 1
        for verdict in outcome.verdicts if outcome is not None else ():
            self._tallies[verdict.policy.key].count(verdict.result)
        if outcome is not None and fate is not Fate.UNCHANGED and not self._is_full(fate):
            self._listed[fate].append(Finding(candidate.namespace, candidate.name, fate, _reasons(outcome)))

    def _where_policies_want_it(self, pod: Mapping[str, Any], candidate: Candidate) -> Candidate:
        """Leave a pod on its node where a policy for it names that node: it has what it is to be given."""
        node = (pod.get("spec") or {}).get("nodeName")
        spec = candidate.pod.get("spec") or {}
        of_namespace = self._world.namespace_labels(candidate.namespace)
        labels = (pod["metadata"]).get("labels") or {}
        if not node or not any(
            policy.directives.node_name == node and policy.selects(candidate.namespace, of_namespace, labels)
            for policy in self._surroundings.policies
        ):
            return candidate
        return replace(candidate, pod={**candidate.pod, "spec": {**spec, "nodeName": node}})

    def _is_full(self, fate: Fate) -> bool:
        return self._bound is not None and len(self._listed[fate]) >= self._bound


def _enforcing(surroundings: Surroundings) -> ClusterWorld:
    """The same world, with every policy enforced."""
    world = ClusterWorld()
    world.namespaces = surroundings.world.namespaces
    enforced = [replace(policy, mode=Mode.ENFORCE) for policy in surroundings.policies]
    for cluster_wide in (True, False):
        reads = [ReadPolicy((p.namespace, p.name), p) for p in enforced if (p.namespace == "") is cluster_wide]
        PolicySink(world.policies, cluster_wide=cluster_wide).replace(reads)
    return world


def _left_out(pod: Mapping[str, Any], candidate: Candidate) -> str | None:
    if (pod.get("status") or {}).get("phase") in _ENDED:
        return "finished"
    if pod["metadata"].get("deletionTimestamp"):
        return "being deleted"
    return "not shown to the webhook" if candidate.namespace in NOT_ASKED else None


def _fate(outcome: Outcome | None) -> Fate:
    results = {verdict.result for verdict in outcome.verdicts} if outcome is not None else set()
    if PolicyResult.REFUSED in results:
        return Fate.REFUSED
    if outcome is not None and any(verdict.merge.changed for verdict in outcome.verdicts):
        return Fate.CHANGED
    return Fate.CONFLICT if PolicyResult.CONFLICT in results else Fate.UNCHANGED


def _reasons(outcome: Outcome) -> tuple[tuple[str, str], ...]:
    found = []
    for verdict in outcome.verdicts:
        if verdict.result is PolicyResult.REFUSED:
            return ((verdict.policy.key, verdict.reasons),)
        sets = f"sets {', '.join(verdict.merge.changed)}" if verdict.merge.changed else ""
        left_out = f"leaves out: {verdict.reasons}" if verdict.reasons else ""
        if sets or left_out:
            found.append((verdict.policy.key, "; ".join(filter(None, (sets, left_out)))))
    return tuple(found)

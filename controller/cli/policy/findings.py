"""What would become of existing pods if every policy were enforced: counted by policy, and remembered within bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from controller.cli.policy.candidates import JudgedPod, request_of
from controller.cli.policy.enforced import Judged, enforcing, judge
from controller.cli.policy.owners import owner_of
from controller.cli.policy.surroundings import NOT_ASKED, UNASKED, Surroundings
from controller.cli.policy.workloads import Unusable
from controller.core.pod_policies.policies import Mode, Target
from controller.core.pod_policies.policies import Result as PolicyResult
from webhook.pods.noted import scheduling_entry

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
    """A pod that would not stay as it is, whose it is (Kind/name), and why: (policy, words)."""

    namespace: str
    name: str
    owner: str
    fate: Fate
    reasons: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Group:
    """Pods of one owner for which the same holds, for the same reasons: the first, and how many."""

    first: Finding
    pods: int = 0


@dataclass(slots=True)
class Tally:
    """One policy: how many pods it concerns, and what it would do to them."""

    name: str
    """As in the pod's annotation, where all kinds meet."""
    mode: Mode
    selected: int = 0
    counts: dict[PolicyResult, int] = field(default_factory=dict)

    def count(self, result: PolicyResult) -> None:
        """One more pod."""
        self.selected += 1
        self.counts[result] = self.counts.get(result, 0) + 1


class Findings:
    """Takes pods one by one. Of each fate `bound` pods and `bound` groups are remembered; all with None."""

    def __init__(
        self, surroundings: Surroundings, namespace: str | None, bound: int | None, notes: tuple[str, ...] = ()
    ) -> None:
        self.namespace = namespace
        self.faulty = tuple(surroundings.faults)
        self.seen = 0
        self.left_out = {"finished": 0, "being deleted": 0, "not shown to the webhook": 0, "not readable": 0}
        self.fates = dict.fromkeys(Fate, 0)
        self._surroundings = surroundings
        self.notes = (*notes, *((UNASKED,) if surroundings.judges_accounts_unasked else ()))
        """What a reader should know of how was judged."""
        self._bound = bound
        self._listed: dict[Fate, list[Finding]] = {fate: [] for fate in Fate}
        self._groups: dict[Fate, dict[tuple[object, ...], Group]] = {fate: {} for fate in Fate}
        self._tallies = {
            policy.key: Tally(policy.key, policy.mode)
            for policy in surroundings.policies
            if policy.target is Target.PODS and (namespace is None or policy.namespace in ("", namespace))
        }
        if surroundings.judges_accounts:
            entries = ((scheduling_entry(one.name), one.mode) for one in surroundings.accounts.policies.valid)
            self._tallies |= {name: Tally(name, mode) for name, mode in entries}
        self.for_templates = tuple(
            policy.key
            for policy in surroundings.for_templates
            if namespace is None or policy.namespace in ("", namespace)
        )
        """Policies that change no pod, but the templates of workloads when they are written."""
        self._world = enforcing(surroundings)

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
    def groups(self) -> list[Group]:
        """The remembered groups, the worst first."""
        return [one for fate in Fate for one in self._groups[fate].values()]

    @property
    def unlisted(self) -> int:
        """How many pods would not stay as they are, and are not remembered."""
        return self._touched - len(self.listed)

    @property
    def ungrouped(self) -> int:
        """How many pods would not stay as they are, and are in no group that is remembered."""
        return self._touched - sum(one.pods for one in self.groups)

    @property
    def _touched(self) -> int:
        return self.judged - self.fates[Fate.UNCHANGED]

    def add(self, pod: Mapping[str, Any], candidate: JudgedPod) -> None:
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
        judged = judge(request, self._world, self._surroundings)
        fate = _fate(judged)
        self.fates[fate] += 1
        for name, result in judged.counted:
            self._tallies[name].count(result)
        if fate is not Fate.UNCHANGED:
            self._remember(Finding(candidate.namespace, candidate.name, owner_of(pod), fate, judged.reasons))

    def _remember(self, found: Finding) -> None:
        listed, groups = self._listed[found.fate], self._groups[found.fate]
        if not self._is_full(len(listed)):
            listed.append(found)
        key = found.namespace, found.owner, found.reasons
        if key in groups or not self._is_full(len(groups)):
            groups.setdefault(key, Group(found)).pods += 1

    def _where_policies_want_it(self, pod: Mapping[str, Any], candidate: JudgedPod) -> JudgedPod:
        """Leave a pod on its node where a policy for it names that node: it has what it is to be given."""
        node = (pod.get("spec") or {}).get("nodeName")
        spec = candidate.pod.get("spec") or {}
        of_namespace = self._world.namespace_labels(candidate.namespace)
        labels = (pod["metadata"]).get("labels") or {}
        if not node or not any(
            policy.target is Target.PODS
            and policy.directives.node_name == node
            and policy.selects(candidate.namespace, of_namespace, labels)
            for policy in self._surroundings.policies
        ):
            return candidate
        return replace(candidate, pod={**candidate.pod, "spec": {**spec, "nodeName": node}})

    def _is_full(self, remembered: int) -> bool:
        return self._bound is not None and remembered >= self._bound


def _left_out(pod: Mapping[str, Any], candidate: JudgedPod) -> str | None:
    if (pod.get("status") or {}).get("phase") in _ENDED:
        return "finished"
    if pod["metadata"].get("deletionTimestamp"):
        return "being deleted"
    return "not shown to the webhook" if candidate.namespace in NOT_ASKED else None


def _fate(judged: Judged) -> Fate:
    if judged.is_refused:
        return Fate.REFUSED
    if judged.is_changed:
        return Fate.CHANGED
    return Fate.CONFLICT if PolicyResult.CONFLICT in {result for _, result in judged.counted} else Fate.UNCHANGED

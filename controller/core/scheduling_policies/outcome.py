"""What a review answers by SchedulingPolicies: the pod as it is to be, or why it is refused, and what is told."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Final

from controller.core.keys import GROUP
from controller.core.pod_policies.policies import Mode, Result
from controller.core.scheduling_policies.completion import Addition, Completion, complete
from controller.core.scheduling_policies.judgement import judge
from controller.core.scheduling_policies.levels import Level, Levels, enforced
from controller.core.scheduling_policies.pod import Pod
from controller.core.scheduling_policies.update import newly_wrong
from controller.core.scheduling_policies.violation import Breach, Violation
from controller.core.scheduling_policies.wording import policies_text

NO_POLICY: Final = "(none)"
"""Counted in the place of a policy where the pod goes against what no policy speaks of."""

_FAULTS_MOST: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """`pod` is what the pod is to be, by `additions` of enforced policies; with `refusal` it is not created.

    `audit` are annotations of the audit event. `counted` are (policy, result), only of policies that did something
    or would have: most pods go by most policies, and counting that would cost more than judging them.
    """

    pod: Pod
    additions: tuple[Addition, ...] = ()
    replaces_priority: bool = False
    refusal: str | None = None
    warnings: tuple[str, ...] = ()
    audit: tuple[tuple[str, str], ...] = ()
    counted: tuple[tuple[str, Result], ...] = ()


def completed(pod: Pod, at: Levels) -> Outcome:
    """Give the pod what enforced policies give, and tell what the others would: for the mutating phase."""
    first = enforced(at)
    done = _complete(pod, first)
    told = _Told({(one.path, one.value) for one in done.additions})
    for level in at:
        if level is not first:
            for one in _complete(pod, level).additions:
                text = f"{policies_text([one.policy])} would set {one.path} to {one.value}"
                told.tell(level.mode, (one.path, one.value), text, (one.policy,), Result.WOULD_CHANGE)
    given = "; ".join(f"{one.policy}: {one.path}" for one in done.additions)
    return Outcome(
        pod=done.pod,
        additions=done.additions,
        replaces_priority=done.replaces_priority,
        warnings=tuple(told.warnings),
        audit=(*((("scheduling-policies", given),) if given else ()), *told.audit),
        counted=tuple(dict.fromkeys([*((one.policy, Result.CHANGED) for one in done.additions), *told.counted])),
    )


def judged(pod: Pod, at: Levels, *, account: str) -> Outcome:
    """Refuse the pod, or let it by and tell what else would be wrong with it: for the validating phase.

    The pod is taken as it is for what is enforced, and for the other levels with what they would have given.
    `account` is the pod's service account, for people.
    """

    def faults(level: Level) -> tuple[_Fault, ...]:
        if level.merged is None:
            return (_Fault(account, _nothing_is_usable(account, level), (NO_POLICY,)),)
        seen = pod if level is enforced(at) else complete(pod, level.merged).pod
        return tuple(map(_fault, judge(seen, level.merged)))

    return _judged(pod, at, faults, "the pod would be refused")


def judged_update(before: Pod, pod: Pod, at: Levels, *, account: str) -> Outcome:
    """As `judged`, of a pod that is being changed: only what was not wrong with it before counts."""

    def faults(level: Level) -> tuple[_Fault, ...]:
        found = newly_wrong(before, pod, level)
        if level.merged is None and found:
            what = " and ".join(f"{one.path} is {one.value}" for one in found[:_FAULTS_MOST])
            return (_Fault(account, f"{what}, but {_nothing_is_usable(account, level)}", (NO_POLICY,)),)
        return tuple(map(_fault, found))

    return _judged(pod, at, faults, "the update would be refused")


def _judged(pod: Pod, at: Levels, faults_at: Callable[[Level], tuple[_Fault, ...]], would: str) -> Outcome:
    first = enforced(at)
    faults = faults_at(first) if first is not None else ()
    if faults:
        counted = [(policy, Result.REFUSED) for fault in faults for policy in fault.policies]
        refusal = _joined(faults) + _not_in_effect(first)
        return Outcome(pod=pod, refusal=refusal, counted=tuple(dict.fromkeys(counted)))
    told = _Told(set())
    for level in at:
        if level is not first:
            for fault in faults_at(level):
                told.tell(level.mode, fault.key, f"{would}: {fault.text}", fault.policies, Result.WOULD_REFUSE)
    return Outcome(pod=pod, warnings=tuple(told.warnings), audit=told.audit, counted=tuple(dict.fromkeys(told.counted)))


@dataclass(frozen=True, slots=True)
class _Fault:
    """Why a pod is refused, and which policies that counts for."""

    key: Hashable
    text: str
    policies: tuple[str, ...]


def _complete(pod: Pod, level: Level | None) -> Completion:
    return Completion(pod, ()) if level is None or level.merged is None else complete(pod, level.merged)


def _nothing_is_usable(account: str, level: Level) -> str:
    resource = f"schedulingpolicies.{GROUP}"
    if not level.faulty:
        return f"{account} may use none of the SchedulingPolicies; grant it the verb use on one of {resource}"
    return (
        f"{account} may use none of the SchedulingPolicies that are valid; correct {_faulty(level)}, or grant the "
        f"account the verb use on a valid one of {resource}"
    )


def _not_in_effect(level: Level | None) -> str:
    """What to know of a refusal: a policy that might allow the pod is faulty."""
    if level is None or level.merged is None or not level.faulty:
        return ""
    return f"; nothing is allowed by {_faulty(level)}"


def _faulty(level: Level) -> str:
    are, their = ("is", "its") if len(level.faulty) == 1 else ("are", "their")
    return f"{policies_text(level.faulty)}, which {are} faulty (see {their} status)"


def _fault(one: Violation) -> _Fault:
    return _Fault(
        (one.path, one.breach is Breach.REQUIRED),
        one.text,
        (NO_POLICY,) if one.breach is Breach.UNSPOKEN else one.policies,
    )


def _joined(faults: Sequence[_Fault]) -> str:
    """All faults in one text; of many the first ones."""
    more = f"; and {len(faults) - _FAULTS_MOST} more" if len(faults) > _FAULTS_MOST else ""
    return "; ".join(fault.text for fault in faults[:_FAULTS_MOST]) + more


class _Told:
    """What is told beside what is enforced, each thing once: at the first level at which it is new."""

    def __init__(self, known: set[Hashable]) -> None:
        self._known = known
        self._texts: list[str] = []
        self.warnings: list[str] = []
        self.counted: list[tuple[str, Result]] = []

    @property
    def audit(self) -> tuple[tuple[str, str], ...]:
        """The annotation of the audit event, if there is something to tell."""
        return (("scheduling-policies-not-enforced", "; ".join(self._texts)),) if self._texts else ()

    def tell(self, mode: Mode, key: Hashable, text: str, policies: tuple[str, ...], result: Result) -> None:
        """Tell at a level what is new there."""
        if key in self._known:
            return
        self._known.add(key)
        text = f"{text} (mode {mode.value})"
        self._texts.append(text)
        if mode is Mode.WARN:
            self.warnings.append(text)
        self.counted.extend((policy, result) for policy in policies)

"""What becomes of a pod if every policy is enforced, whatever its mode: by the webhook's steps and checks. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from controller.cache.policies.pod_policies import PolicySink
from controller.cli.policy.accounts import usable_by
from controller.cli.policy.surroundings import Surroundings
from controller.core.pod_policies.policies import Mode, Outcome, Result
from controller.objects.pod_policies import ReadPolicy
from controller.objects.scheduling_policies import ReadSchedulingPolicy
from webhook.checks.chain import judge_by_policies
from webhook.pods import scheduling_pods
from webhook.pods.creators import is_mirror_pod
from webhook.pods.limits import limited
from webhook.pods.noted import scheduling_entry
from webhook.reviews.admission import Answer, Request
from webhook.reviews.patching import applied
from webhook.steps.chain import Step
from webhook.steps.pod_policies import apply_pod_policies
from webhook.steps.runtime_class import assign_runtime_class
from webhook.steps.scheduling_policies import apply_scheduling_policies
from webhook.world.account_policies import AccountPolicies
from webhook.world.cluster import ClusterLookups

_STEPS: Final[tuple[Step, ...]] = (assign_runtime_class, apply_pod_policies, apply_scheduling_policies)
"""Those that policies have a say in, in the order of the chain: stamps and gates of a pod that exists are its own."""

TOGETHER: Final = "SchedulingPolicies"
"""Stands where a policy is named, for what the policies of an account do together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What all came to. `counted` is of each policy that concerns the pod, by its name in the annotation."""

    counted: tuple[tuple[str, Result], ...]
    reasons: tuple[tuple[str, str], ...]
    """(policy, words), where something would not stay as it is."""
    is_refused: bool
    is_changed: bool


def enforcing(surroundings: Surroundings) -> ClusterLookups:
    """Return the same world, with every policy enforced."""
    known = surroundings.world
    world = ClusterLookups(known.runtime_classes, _enforcing_accounts(surroundings))
    world.namespaces = known.namespaces
    enforced = [replace(policy, mode=Mode.ENFORCE) for policy in surroundings.policies]
    for cluster_wide in (True, False):
        reads = [ReadPolicy((p.namespace, p.name), p) for p in enforced if (p.namespace == "") is cluster_wide]
        PolicySink(world.policies, cluster_wide=cluster_wide).replace(reads)
    return world


def _enforcing_accounts(surroundings: Surroundings) -> AccountPolicies | None:
    known = surroundings.world.account_policies
    if known is None:
        return None
    accounts = AccountPolicies(surroundings.settings.scheduling_policy_merge)
    accounts.access, accounts.priority_classes = known.access, known.priority_classes
    valid = (ReadSchedulingPolicy(one.name, replace(one, mode=Mode.ENFORCE)) for one in known.policies.valid)
    faulty = (ReadSchedulingPolicy(one.name, None) for one in known.policies.faulty)
    accounts.policies.replace([*valid, *faulty])
    return accounts


def judge(request: Request, world: ClusterLookups, surroundings: Surroundings) -> Judged:
    """Ask steps and checks about the pod; the first refusal ends it. `world` is that of `enforcing`."""
    answers: dict[Step, Answer] = {}
    denial: str | None = None
    for step in _STEPS:
        answers[step] = answer = limited(step, request, world)
        denial = answer.denial
        if denial is not None:
            break
        request = replace(request, pod=applied(request.pod, answer.operations))
    checked = judge_by_policies(request, world) if denial is None else Answer()
    of_accounts = _of_accounts(request, answers, checked, surroundings)
    outcome = answers[apply_pod_policies].outcome if apply_pod_policies in answers else None
    verdicts = outcome.verdicts if outcome is not None else ()
    reasons = tuple(_reasons(answers, outcome, checked))
    return Judged(
        counted=(*((one.policy.key, one.result) for one in verdicts), *of_accounts),
        reasons=reasons,
        is_refused=denial is not None or checked.denial is not None,
        is_changed=any(one.merge.changed for one in verdicts) or _gives(answers),
    )


def _gives(answers: dict[Step, Answer]) -> bool:
    """Whether the steps that stand beside the pod scheduling policies change the pod."""
    of_class, of_accounts = answers[assign_runtime_class], answers.get(apply_scheduling_policies, Answer())
    return bool(of_class.operations) or any(result == Result.CHANGED for _, result in of_accounts.counted)


def _of_accounts(
    request: Request, answers: dict[Step, Answer], checked: Answer, surroundings: Surroundings
) -> Iterator[tuple[str, Result]]:
    """Each policy that the pod's account may use, if the judging came that far."""
    if apply_scheduling_policies not in answers or not surroundings.judges_accounts or is_mirror_pod(request):
        return
    did = {
        name: Result(result)
        for answer in (answers[apply_scheduling_policies], checked)
        for name, result in answer.counted
    }
    for policy in usable_by(surroundings, request.namespace, scheduling_pods.account(request.pod)):
        name = scheduling_entry(policy.name)
        yield name, did.get(name, Result.UNCHANGED)


def _reasons(answers: dict[Step, Answer], outcome: Outcome | None, checked: Answer) -> Iterator[tuple[str, str]]:
    of_class = answers[assign_runtime_class]
    refusal = of_class.denial or checked.denial
    if refusal is not None:
        yield (TOGETHER if checked.denial is not None else "RuntimeClass"), refusal
        return
    last = outcome.verdicts[-1] if outcome is not None and outcome.verdicts else None
    if last is not None and last.result is Result.REFUSED:
        yield last.policy.key, last.reasons
        return
    if of_class.operations:
        yield "RuntimeClass", _set_by(of_class)
    for verdict in outcome.verdicts if outcome is not None else ():
        sets = f"sets {', '.join(verdict.merge.changed)}" if verdict.merge.changed else ""
        left_out = f"leaves out: {verdict.reasons}" if verdict.reasons else ""
        if sets or left_out:
            yield verdict.policy.key, "; ".join(filter(None, (sets, left_out)))
    given = dict(answers.get(apply_scheduling_policies, Answer()).audit).get("scheduling-policies")
    if given is not None:
        yield TOGETHER, f"set, by policy: {given}"


def _set_by(answer: Answer) -> str:
    paths = [str(operation["path"]).split("/")[2] for operation in answer.operations]
    return f"sets {', '.join(dict.fromkeys(paths))}"

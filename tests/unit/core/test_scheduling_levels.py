"""The modes of SchedulingPolicies: what is enforced, and what is only told."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from controller.core.pod_policies.policies import Mode, Result
from controller.core.scheduling_policies.levels import Levels, levels
from controller.core.scheduling_policies.outcome import NO_POLICY, Outcome, completed, judged, judged_update
from controller.core.scheduling_policies.policy import Faulty, MergeOption, Policy
from tests.support.scheduling import DEEP, a_pod, a_policy

ACCOUNT = "service account default/builder"


def of_mode(mode: str, spec: str = "{}", name: str | None = None) -> Policy:
    return a_policy(spec, name or mode.lower(), mode=mode)


def at(*policies: Policy, usable: Collection[str] | None = None, faulty: Collection[Faulty] = ()) -> Levels:
    return levels(policies, [one.name for one in policies] if usable is None else usable, DEEP, faulty)


def shape(found: Levels) -> list[tuple[Mode, tuple[str, ...] | None]]:
    return [(level.mode, level.merged.names if level.merged else None) for level in found]


# -- which levels there are ----------------------------------------------------------------------------------------


def test_each_level_has_the_policies_of_those_before_it() -> None:
    found = at(of_mode("Audit"), of_mode("Warn"), of_mode("Enforce"))
    assert shape(found) == [
        (Mode.ENFORCE, ("enforce",)),
        (Mode.WARN, ("enforce", "warn")),
        (Mode.AUDIT, ("audit", "enforce", "warn")),
    ]


@pytest.mark.parametrize(
    ("policies", "usable", "expected"),
    [
        ([], [], []),
        (["Enforce"], ["enforce"], [(Mode.ENFORCE, ("enforce",))]),
        (["Enforce"], [], [(Mode.ENFORCE, None)]),
        (["Enforce", "Warn"], ["enforce"], [(Mode.ENFORCE, ("enforce",))]),
        (["Enforce", "Warn"], ["warn"], [(Mode.ENFORCE, None), (Mode.WARN, ("warn",))]),
        (["Warn"], [], [(Mode.WARN, None)]),
        (["Audit"], ["audit"], [(Mode.AUDIT, ("audit",))]),
        (["Warn", "Audit"], [], [(Mode.WARN, None)]),
    ],
)
def test_a_level_that_repeats_the_one_before_is_left_out(
    policies: list[str], usable: list[str], expected: object
) -> None:
    assert shape(at(*map(of_mode, policies), usable=usable)) == expected


def test_the_option_of_merging_holds_at_every_level() -> None:
    policies = [of_mode("Enforce", name="b"), of_mode("Warn", name="a")]
    assert shape(levels(policies, ["a", "b"], MergeOption.FIRST_POLICY)) == [
        (Mode.ENFORCE, ("b",)),
        (Mode.WARN, ("a",)),
    ]


BROKEN = Faulty("broken")


@pytest.mark.parametrize(
    ("policies", "usable", "faulty", "expected"),
    [
        ([], [], [BROKEN], [(Mode.ENFORCE, None, ("broken",))]),
        ([], ["broken"], [Faulty("also"), BROKEN], [(Mode.ENFORCE, None, ("broken",))]),
        ([], [], [Faulty("b", Mode.WARN), Faulty("a", Mode.WARN)], [(Mode.WARN, None, ("a", "b"))]),
        ([], ["broken"], [Faulty("broken", Mode.AUDIT)], [(Mode.AUDIT, None, ("broken",))]),
        (["Enforce"], ["enforce", "broken"], [BROKEN], [(Mode.ENFORCE, ("enforce",), ("broken",))]),
        (["Enforce"], ["enforce"], [BROKEN], [(Mode.ENFORCE, ("enforce",), ())]),
        (["Enforce"], ["broken"], [Faulty("broken", Mode.WARN)], [(Mode.ENFORCE, None, ())]),
        (["Warn"], ["warn"], [BROKEN], [(Mode.ENFORCE, None, ("broken",)), (Mode.WARN, ("warn",), ())]),
        (["Enforce"], ["enforce", "broken"], [Faulty("broken", Mode.AUDIT)], [(Mode.ENFORCE, ("enforce",), ())]),
    ],
)
def test_a_faulty_policy_stands_at_its_levels_and_gives_nothing(
    policies: list[str], usable: list[str], faulty: list[Faulty], expected: object
) -> None:
    found = at(*map(of_mode, policies), usable=usable, faulty=faulty)
    assert [(*one, level.faulty) for one, level in zip(shape(found), found, strict=True)] == expected


# -- judging -------------------------------------------------------------------------------------------------------


def test_without_policies_nothing_is_judged() -> None:
    pod = a_pod("{nodeName: n, schedulerName: other}")
    assert judged(pod, (), account=ACCOUNT) == completed(pod, ()) == Outcome(pod=pod)


def test_an_account_without_policies_is_refused_everything() -> None:
    outcome = judged(a_pod(), at(of_mode("Enforce"), usable=[]), account=ACCOUNT)
    assert outcome.refusal == (
        f"{ACCOUNT} may use none of the SchedulingPolicies; grant it the verb use on one of "
        "schedulingpolicies.penstock.dev"
    )
    assert outcome.counted == ((NO_POLICY, Result.REFUSED),)
    assert completed(a_pod(), at(of_mode("Enforce"), usable=[])).additions == ()


def test_an_account_with_faulty_policies_alone_is_told_of_them() -> None:
    found = at(usable=["broken"], faulty=[BROKEN])
    outcome = judged(a_pod(), found, account=ACCOUNT)
    assert outcome.refusal == (
        f"{ACCOUNT} may use none of the SchedulingPolicies that are valid; correct SchedulingPolicy 'broken', which is "
        "faulty (see its status), or grant the account the verb use on a valid one of schedulingpolicies.penstock.dev"
    )
    assert outcome.counted == ((NO_POLICY, Result.REFUSED),)
    several = judged(a_pod(), at(faulty=[BROKEN, Faulty("a")]), account=ACCOUNT).refusal
    assert "correct SchedulingPolicies 'a' and 'broken', which are faulty (see their status)" in (several or "")
    update = judged_update(a_pod(), a_pod("nodeName: n"), found, account=ACCOUNT).refusal
    assert (update or "").startswith(f"spec.nodeName is 'n', but {ACCOUNT} may use none of the SchedulingPolicies that")


@pytest.mark.parametrize(("mode", "warned"), [(Mode.WARN, True), (Mode.AUDIT, False)])
def test_a_faulty_policy_that_is_not_enforced_refuses_nothing(mode: Mode, warned: bool) -> None:
    outcome = judged(a_pod(), at(faulty=[Faulty("broken", mode)]), account=ACCOUNT)
    assert outcome.refusal is None
    assert bool(outcome.warnings) is warned
    assert "correct SchedulingPolicy 'broken'" in outcome.audit[0][1]


def test_a_refusal_names_faulty_policies_that_might_allow() -> None:
    found = at(of_mode("Enforce"), usable=["enforce", "broken"], faulty=[BROKEN])
    assert judged(a_pod(), found, account=ACCOUNT) == Outcome(pod=a_pod())
    assert judged(a_pod("nodeName: n"), found, account=ACCOUNT).refusal == (
        "spec.nodeName is 'n', which needs allowed.nodeNames, not given by SchedulingPolicy 'enforce'; nothing is "
        "allowed by SchedulingPolicy 'broken', which is faulty (see its status)"
    )


def test_a_refusal_tells_all_faults_and_counts_who_spoke() -> None:
    policies = of_mode("Enforce", "allowed: {nodeSelectors: {disk: [ssd]}}"), of_mode("Warn", "{}")
    outcome = judged(a_pod("{nodeSelector: {disk: x}, nodeName: n}"), at(*policies), account=ACCOUNT)
    assert outcome.refusal == (
        "spec.nodeName is 'n', which needs allowed.nodeNames, not given by SchedulingPolicy 'enforce'; "
        "spec.nodeSelector[disk] is 'x', allowed is 'ssd' (allowed.nodeSelectors[disk] of SchedulingPolicy 'enforce')"
    )
    assert outcome.counted == ((NO_POLICY, Result.REFUSED), ("enforce", Result.REFUSED))


def test_of_many_faults_the_first_are_told() -> None:
    selector = ", ".join(f"k{number}: v" for number in range(11))
    outcome = judged(a_pod(f"nodeSelector: {{{selector}}}"), at(of_mode("Enforce")), account=ACCOUNT)
    assert (outcome.refusal or "").count("spec.nodeSelector") == 8
    assert (outcome.refusal or "").endswith("; and 3 more")


@pytest.mark.parametrize(("mode", "warned"), [("Warn", True), ("Audit", False)])
def test_an_unenforced_policy_refuses_nothing_and_tells(mode: str, warned: bool) -> None:
    policies = of_mode("Enforce", "allowed: {schedulerNames: []}"), of_mode(mode, "required: {schedulerNames: [s, t]}")
    outcome = judged(a_pod(), at(*policies), account=ACCOUNT)
    text = (
        "the pod would be refused: spec.schedulerName is 'default-scheduler', must be 's' or 't' "
        f"(required.schedulerNames of SchedulingPolicy '{mode.lower()}') (mode {mode})"
    )
    assert outcome.refusal is None
    assert outcome.warnings == ((text,) if warned else ())
    assert outcome.audit == (("scheduling-policies-not-enforced", text),)
    assert outcome.counted == ((mode.lower(), Result.WOULD_REFUSE),)


def test_a_policy_that_is_not_enforced_allows_nothing() -> None:
    policies = of_mode("Enforce"), of_mode("Warn", "allowed: {nodeNames: []}")
    assert judged(a_pod("nodeName: n"), at(*policies), account=ACCOUNT).refusal


def test_what_is_wrong_at_two_levels_is_told_once_at_the_first() -> None:
    demand = "required: {schedulerNames: [s, t]}"
    outcome = judged(a_pod(), at(of_mode("Warn", demand), of_mode("Audit", demand)), account=ACCOUNT)
    assert [text[-11:] for text in outcome.warnings] == ["(mode Warn)"]
    assert outcome.audit == (("scheduling-policies-not-enforced", outcome.warnings[0]),)


def test_a_pod_is_judged_with_what_unenforced_ones_would_give() -> None:
    spec = "{required: {nodeSelectors: {a: [x, y]}}, default: {nodeSelector: {a: x}}}"
    assert judged(a_pod(), at(of_mode("Warn", spec)), account=ACCOUNT).warnings == ()
    assert judged(a_pod(), at(of_mode("Enforce", spec)), account=ACCOUNT).refusal


# -- completing ----------------------------------------------------------------------------------------------------


def test_enforced_policies_give_and_others_tell() -> None:
    policies = [
        of_mode("Enforce", "default: {nodeSelector: {a: x}, priorityClassName: high}"),
        of_mode("Warn", "default: {nodeSelector: {a: x, b: y}}"),
        of_mode("Audit", "default: {schedulerName: s}"),
    ]
    outcome = completed(a_pod(), at(*policies))
    assert outcome.pod == a_pod("{nodeSelector: {a: x}, priorityClassName: high}")
    assert outcome.replaces_priority
    assert outcome.warnings == ("SchedulingPolicy 'warn' would set spec.nodeSelector[b] to y (mode Warn)",)
    assert outcome.audit == (
        ("scheduling-policies", "enforce: spec.priorityClassName; enforce: spec.nodeSelector[a]"),
        (
            "scheduling-policies-not-enforced",
            f"{outcome.warnings[0]}; SchedulingPolicy 'audit' would set spec.schedulerName to s (mode Audit)",
        ),
    )
    assert outcome.counted == (
        ("enforce", Result.CHANGED),
        ("warn", Result.WOULD_CHANGE),
        ("audit", Result.WOULD_CHANGE),
    )


def test_a_default_that_would_be_another_one_is_told() -> None:
    policies = (
        of_mode("Enforce", "default: {nodeSelector: {a: x}}", "b"),
        of_mode("Warn", "default: {nodeSelector: {a: y}}", "a"),
    )
    outcome = completed(a_pod(), at(*policies))
    assert outcome.pod == a_pod("nodeSelector: {a: x}")
    assert outcome.warnings == ("SchedulingPolicy 'a' would set spec.nodeSelector[a] to y (mode Warn)",)

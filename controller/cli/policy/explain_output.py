"""A trace as text for people, and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import click
import yaml
from rich.console import Console
from rich.text import Text

from controller.cli.policy.accounts import AccountTrace
from controller.cli.policy.changes import as_json
from controller.cli.policy.trace import JUDGEMENT, TEMPLATE, WORKLOAD, PolicyTrace, Result, Stage, Trace
from controller.core.keys import POLICIES
from controller.core.pod_policies.policies import Mode, Policy
from controller.core.pod_policies.policies import Result as PolicyResult

_DIRECTIVES: Final = (
    "schedulingGates",
    "runtimeClassName",
    "schedulerName",
    "nodeName",
    "nodeSelector",
    "affinity",
    "tolerations",
    "priorityClassName",
    "priority",
    "overhead",
)
_STYLES: Final = {Result.ALLOWED: "green", Result.CHANGED: "yellow", Result.REFUSED: "red"}
_DONE: Final = {
    PolicyResult.CHANGED: "changes the {noun}",
    PolicyResult.UNCHANGED: "has nothing to change",
    PolicyResult.CONFLICT: "is left out in part",
    PolicyResult.REFUSED: "refuses the {noun}",
    PolicyResult.WOULD_CHANGE: "would change the {noun}",
    PolicyResult.WOULD_CONFLICT: "would be left out in part",
    PolicyResult.WOULD_REFUSE: "would refuse the {noun}",
}


def directives_of(trace: Trace) -> dict[str, Any]:
    """What the pod's spec says about where it runs; nothing of a pod that is refused."""
    spec = trace.pod["spec"] if trace.result is not Result.REFUSED else {}
    return {name: spec[name] for name in _DIRECTIVES if spec.get(name) not in (None, "", [], {})}


def show_json(traces: Sequence[Trace]) -> None:
    """Print one object with an entry a pod."""
    click.echo(as_json({"pods": [_document(trace) for trace in traces]}))


def _document(trace: Trace) -> dict[str, Any]:
    return {
        "name": trace.candidate.name,
        "namespace": trace.candidate.namespace,
        "madeBy": trace.candidate.maker or None,
        "result": trace.result,
        "message": trace.denial,
        "refusedBy": trace.refused_by,
        "notes": list(trace.notes),
        "filledIn": [change.document() for change in trace.filled],
        "workload": _step_document(trace.workload) if trace.workload is not None else None,
        "template": _step_document(trace.template) if trace.template is not None else None,
        "steps": [_step_document(stage) for stage in trace.stages],
        "notSelecting": [{**_policy_document(policy), "reason": reason} for policy, reason in trace.unselected],
        "notInEffect": list(trace.faulty),
        "warnings": list(trace.warnings),
        "directives": directives_of(trace),
    }


def _step_document(stage: Stage) -> dict[str, Any]:
    return {
        "step": stage.title,
        "off": bool(stage.switch),
        "changes": [change.document() for change in stage.changes],
        "warnings": list(stage.answer.warnings),
        "policies": [
            {
                **_policy_document(one.verdict.policy),
                "result": one.verdict.result,
                "changes": [change.document() for change in one.changes],
                "conflicts": [{"field": c.field, "message": c.text} for c in one.verdict.merge.conflicts],
                "fault": one.verdict.merge.fault,
            }
            for one in stage.policies
        ],
        **({"account": _account_document(stage.account)} if stage.account is not None else {}),
    }


def _account_document(account: AccountTrace) -> dict[str, Any]:
    return {
        "namespace": account.namespace,
        "name": account.name,
        "merge": account.option,
        "mayUse": [{"policy": policy.name, "mode": policy.mode} for policy in account.usable],
        "mayNotUse": [policy.name for policy in account.others],
        "enforced": list(account.counting),
        "gives": [
            {"policy": one.policy, "entry": one.entry, "path": one.path, "value": one.value}
            for one in account.additions
        ],
    }


def _policy_document(policy: Policy) -> dict[str, Any]:
    return {
        "policy": policy.key,
        "clusterWide": not policy.namespace,
        "mode": policy.mode,
        "priority": policy.priority,
        "onConflict": policy.on_conflict,
        "target": policy.target,
    }


def show_text(traces: Sequence[Trace]) -> None:
    """Print each pod's way through the steps."""
    console = Console(soft_wrap=True, highlight=False)
    for number, trace in enumerate(traces):
        if number:
            console.print()
        for line in _lines(trace):
            console.print(line)


def _lines(trace: Trace) -> Iterator[Text]:
    yield Text(f"{trace.candidate.title} in namespace {trace.candidate.namespace!r}")
    for note in trace.notes:
        yield Text(f"  note: {note}")
    if trace.workload is not None:
        yield from _stage(f"{trace.candidate.maker}: ", trace.workload)
    if trace.template is not None:
        yield from _stage(f"Template of {trace.candidate.maker}: ", trace.template)
        yield from _others(trace.template)
    if trace.filled:
        yield Text("Filled in, as the apiserver does before it asks the webhook:")
        yield from _indented(map(str, trace.filled), 2)
    for number, stage in enumerate(trace.stages, start=1):
        yield from _stage(f"{number}. ", stage)
        yield from _others(stage)
        if stage.policies or stage.title == "Pod scheduling policies":
            yield from _faulty(trace)
    yield from _result(trace)


def _stage(place: str, stage: Stage) -> Iterator[Text]:
    if stage.switch:
        yield Text(f"{place}{stage.title}: off; {stage.switch} switches it on, as it does for the webhook")
        return
    refuses = stage.answer.denial is not None
    if not stage.policies:
        noun = "workload" if stage.title == WORKLOAD else "pod"
        done = f"refuses the {noun}" if refuses else "nothing to change" if not stage.changes else f"changes the {noun}"
        if stage.title == JUDGEMENT and not refuses:
            done = "nothing is wrong with it" if not stage.answer.warnings else "nothing that is enforced is wrong"
        yield Text(f"{place}{stage.title}: {done}")
        if stage.account is not None:
            yield from _account(stage.account)
        yield from _indented(map(str, stage.changes), 5)
        return
    yield Text(f"{place}{stage.title}, in order:")
    noun = "template" if stage.title == TEMPLATE else "pod"
    for one in stage.policies:
        yield from _policy(one, noun)
    own = [change for change in stage.changes if change.path.endswith(f"metadata.annotations[{POLICIES}]")]
    if own and not refuses:
        yield Text(f"   Noted on the {noun}:")
        yield from _indented(map(str, own), 5)


def _policy(one: PolicyTrace, noun: str) -> Iterator[Text]:
    verdict, policy = one.verdict, one.verdict.policy
    mode = "" if policy.mode is Mode.ENFORCE else f"mode {policy.mode}, "
    yield Text(f"   {policy.title} ({mode}priority {policy.priority}) {_DONE[verdict.result].format(noun=noun)}")
    if verdict.result not in (PolicyResult.REFUSED, PolicyResult.WOULD_REFUSE):
        yield from _indented(map(str, one.changes), 5)
    why = [f"{conflict.field} is left out: {conflict.text}" for conflict in verdict.merge.conflicts]
    if verdict.result in (PolicyResult.REFUSED, PolicyResult.WOULD_REFUSE):
        why = [f"{conflict.field}: {conflict.text}" for conflict in verdict.merge.conflicts]
    yield from _indented((*why, *filter(None, (verdict.merge.fault,))), 5)
    if verdict.result is PolicyResult.UNCHANGED:
        has = ", ".join(verdict.merge.met)
        yield from _indented((f"the pod has it already: {has}" if has else "it sets nothing",), 5)


def _account(account: AccountTrace) -> Iterator[Text]:
    whose = f"   ServiceAccount {account.name!r} of namespace {account.namespace!r} may use"
    others = ", ".join(policy.name for policy in account.others)
    if not account.usable:
        yield Text(f"{whose} none of {others}" if others else f"{whose} none: there is no SchedulingPolicy")
        return
    modes = ((one.name, "" if one.mode is Mode.ENFORCE else f" (mode {one.mode})") for one in account.usable)
    enforced = f", of which is enforced {', '.join(account.counting) or 'none'}"
    is_all = account.counting == tuple(one.name for one in account.usable)
    names = ", ".join(f"{name}{mode}" for name, mode in modes)
    yield Text(f"{whose} {names}; merged by {account.option}{'' if is_all else enforced}")
    if others:
        yield Text(f"   and may not use {others}")
    gives = (f"{one.policy} gives {one.path}: {one.value}, by its {one.entry}" for one in account.additions)
    yield from _indented(gives, 3)


def _others(stage: Stage) -> Iterator[Text]:
    if stage.unselected:
        yield Text(f"   Not for this {'template' if stage.title == TEMPLATE else 'pod'}:")
        yield from _indented((f"{policy.title}: {reason}" for policy, reason in stage.unselected), 5)


def _faulty(trace: Trace) -> Iterator[Text]:
    if trace.faulty:
        yield Text("   Not in effect, because they break the rules of their kind:")
        yield from _indented(trace.faulty, 5)


def _result(trace: Trace) -> Iterator[Text]:
    if trace.denial is not None:
        yield Text(f"Result: refused by {_by(trace)}", style=_STYLES[Result.REFUSED])
        yield Text(f"  {trace.denial}")
        return
    words = "created as it is" if trace.result is Result.ALLOWED else "created, with these changes"
    yield Text(f"Result: {words}", style=_STYLES[trace.result])
    if trace.warnings:
        yield Text("Warnings for whoever creates it:")
        yield from _indented(trace.warnings, 2)
    yield Text("What the pod then says about where it runs:")
    yield from _indented(_yaml(directives_of(trace)).splitlines(), 2)


def _by(trace: Trace) -> str:
    return str(trace.refused_by)


def _yaml(document: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(document), sort_keys=False, allow_unicode=True) if document else "(nothing)"


def _indented(lines: Iterable[str], spaces: int) -> Iterator[Text]:
    for line in lines:
        yield Text(f"{' ' * spaces}{line}")

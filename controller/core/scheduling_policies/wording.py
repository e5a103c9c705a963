"""Policies, and what pods say of where to run, in words for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from controller.core.kubernetes.labels import Term
from controller.core.kubernetes.taints import Toleration
from controller.core.scheduling_policies.policy import Form, Names, TermForm, TolerationForm

_LISTED_MOST = 8


def listed(names: Iterable[str], joint: str = "or") -> str:
    """Write `'a', 'b' or 'c'`; of many names the first ones."""
    shown = [repr(name) for name in names]
    if len(shown) > _LISTED_MOST:
        shown = [*shown[:_LISTED_MOST], f"{len(shown) - _LISTED_MOST} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} {joint} {shown[-1]}"


def alternatives(texts: Sequence[str]) -> str:
    """Write `a; or b; or c`, for texts that have commas of their own; of many the first ones."""
    more = [f"{len(texts) - _LISTED_MOST} more"] if len(texts) > _LISTED_MOST else []
    return "; or ".join([*dict.fromkeys(texts[:_LISTED_MOST]), *more])


def policies_text(names: Sequence[str]) -> str:
    """Write `SchedulingPolicy 'a'` or `SchedulingPolicies 'a' and 'b'`."""
    return f"{'SchedulingPolicy' if len(names) == 1 else 'SchedulingPolicies'} {listed(names, 'and')}"


def counted(number: int, noun: str) -> str:
    """Write `1 term` or `2 terms`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def terms_text(terms: Iterable[Term]) -> str:
    """Write `zone In [a] and gpu Exists or zone In [b]`; of many terms the first ones."""
    shown = [term.text for term in terms]
    more = [f"{len(shown) - _LISTED_MOST} more"] if len(shown) > _LISTED_MOST else []
    return " or ".join([*shown[:_LISTED_MOST], *more])


def toleration_text(toleration: Toleration) -> str:
    """Write `spot=true:NoSchedule` as kubectl writes taints, `spot:NoSchedule` where any value will do."""
    key = toleration.key or "every taint"
    value = f"={toleration.value}" if toleration.operator == "Equal" else ""
    other = f" {toleration.operator} {toleration.value}" if toleration.operator not in ("Equal", "Exists") else ""
    return f"{key}{value}{other}{f':{toleration.effect}' if toleration.effect else ''}"


def term_form_text(form: TermForm) -> str:
    """Write `zone or region In or NotIn [a, b] and …`."""
    parts = [form.expressions, form.fields]
    if () in parts:
        return "any requirement on labels" if form.expressions == () else "any requirement on the node's name"
    return " and ".join(_form_text(one) for part in parts for one in part or ()) or "nothing"


def _form_text(form: Form) -> str:
    values = "" if form.values is None else " any value" if not form.values else f" [{', '.join(form.values)}]"
    return f"{_any(form.keys, 'key')} {_any(form.operators, 'operator')}{values}"


def toleration_form_text(form: TolerationForm) -> str:
    """Write `key spot, operator Equal, value a or b, any effect`."""
    values = "" if form.values is None else f", {_of(form.values, 'value')}"
    return f"{_of(form.keys, 'key')}, {_of(form.operators, 'operator')}{values}, {_of(form.effects, 'effect')}"


def _any(names: Names | None, noun: str) -> str:
    return f"no {noun}" if names is None else " or ".join(names) or f"any {noun}"


def _of(names: Names | None, noun: str) -> str:
    return f"{noun} {_any(names, noun)}" if names else _any(names, noun)

"""What meets the forms of a policy: requirements on nodes, whole terms, tolerations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from controller.core.kubernetes.labels import Operator, Requirement, Term
from controller.core.kubernetes.taints import Toleration
from controller.core.scheduling_policies.policy import (
    Affinities,
    AffinityKind,
    Form,
    Names,
    TermForm,
    TermForms,
    TolerationForm,
)

EFFECTS: Final = frozenset(("NoSchedule", "PreferNoSchedule", "NoExecute"))

_VALUED: Final = (Operator.IN, Operator.NOT_IN, Operator.GT, Operator.LT)


def required_part(affinities: Affinities | None, kind: AffinityKind, part: str) -> TermForms | None:
    """Return what is required in one part of a kind of affinity; () is any term there, None is nothing."""
    return (affinities or {}).get(kind, {}).get(part)


def allowed_part(affinities: Affinities | None, kind: AffinityKind, part: str) -> TermForms | None:
    """Return what is allowed in one part of a kind of affinity; an empty level above says everything of it."""
    if affinities is None:
        return None
    if not affinities:
        return ()
    parts = affinities.get(kind)
    if parts is None:
        return None
    return parts.get(part) if parts else ()


def _lists(names: Names | None, name: str) -> bool:
    return names is not None and (not names or name in names)


def is_met(form: Form, requirement: Requirement) -> bool:
    """Say whether the requirement is of this form. One without values needs no permission for values."""
    if not _lists(form.keys, requirement.key) or not _lists(form.operators, requirement.operator.value):
        return False
    return all(_lists(form.values, value) for value in requirement.values)


def has_form(term: Term, form: TermForm) -> bool:
    """Say whether every form of a required term is met by one of the requirements of a pod's term."""
    return all(
        any(is_met(one, requirement) for requirement in have)
        for forms, have in ((form.expressions, term.expressions), (form.fields, term.fields))
        for one in forms or ()
    )


def permit(forms: Iterable[tuple[Form, ...] | None], requirement: Requirement) -> bool:
    """Say whether one of these, each a part of a term form, lets the requirement in."""
    return any(part is not None and (not part or any(is_met(form, requirement) for form in part)) for part in forms)


def permits(form: TolerationForm, toleration: Toleration) -> bool:
    """Say whether the toleration is of this form.

    No key, or no effect, tolerates every one, so it takes a form that allows every one. Exists tolerates every value,
    so it takes a form that names Exists, or that allows every operator and every value.
    """
    has_key = _lists(form.keys, toleration.key) if toleration.key else form.keys == ()
    if toleration.effect:
        has_effect = _lists(form.effects, toleration.effect)
    else:
        has_effect = form.effects is not None and (not form.effects or EFFECTS.issubset(form.effects))
    return has_key and has_effect and _permits_value(form, toleration)


def _permits_value(form: TolerationForm, toleration: Toleration) -> bool:
    if toleration.operator == "Equal":
        return _lists(form.operators, "Equal") and _lists(form.values, toleration.value)
    is_named = form.operators is not None and toleration.operator in form.operators
    return is_named or (form.operators == () and form.values == ())


def sole_term(forms: TermForms | None) -> Term | None:
    """Return the one term that meets the forms, None when they leave a choice."""
    if forms is None or len(forms) != 1:
        return None
    expressions = [_sole(form) for form in forms[0].expressions or ()]
    fields = [_sole(form) for form in forms[0].fields or ()]
    known_expressions = tuple(one for one in expressions if one is not None)
    known_fields = tuple(one for one in fields if one is not None)
    if len(known_expressions) + len(known_fields) != len(expressions) + len(fields):
        return None
    return Term(known_expressions, known_fields)


def _sole(form: Form) -> Requirement | None:
    if form.keys is None or form.operators is None or len(form.keys) != 1 or len(form.operators) != 1:
        return None
    operator = Operator(form.operators[0])
    if operator not in _VALUED:
        return Requirement(form.keys[0], operator)
    if form.values is None or len(form.values) != 1:
        return None
    return Requirement(form.keys[0], operator, form.values)

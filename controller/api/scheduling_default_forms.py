"""CEL rules: what a SchedulingPolicy gives by default, of tolerations and affinities, its own forms let in.

In Python it is `controller.core.scheduling_policies.validity` that says so, when a policy is read. That holds all
of node affinity to the forms; within the cost of CEL only keys and operators of what is required can be.
"""

from __future__ import annotations

from typing import Final

from controller.api.rules import Rule
from controller.core.kubernetes.directives import PREFERRED, REQUIRED

_FORMS: Final = "self.allowed.tolerations"
_KEY: Final = "(has(f.keys) && (size(f.keys) == 0 || (has(d.key) && d.key in f.keys)))"
_EFFECT: Final = (
    "(has(f.effects) && (size(f.effects) == 0 || (has(d.effect) && d.effect != '' ? d.effect in f.effects"
    " : ['NoSchedule', 'PreferNoSchedule', 'NoExecute'].all(e, e in f.effects))))"
)
_EXISTS: Final = (
    "(has(f.operators) && ('Exists' in f.operators"
    " || (size(f.operators) == 0 && has(f.values) && size(f.values) == 0)))"
)
_EQUAL: Final = "(has(f.operators) && (size(f.operators) == 0 || 'Equal' in f.operators))"
_VALUE: Final = "(has(f.values) && (size(f.values) == 0 || v in f.values))"
_OF_THE_APISERVER: Final = (
    "(d.operator == 'Exists' && has(d.key) && has(d.effect) && d.effect == 'NoExecute'"
    " && d.key in ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']"
    " && has(d.tolerationSeconds) && d.tolerationSeconds == 300)"
)
_TOLERATIONS: Final = "default.tolerations must each be of one of the forms in allowed.tolerations"


def _tolerations_rule() -> Rule:
    exists = f"{_FORMS}.exists(f, {_KEY} && {_EFFECT} && {_EXISTS})"
    equal = f"d.values.all(v, {_FORMS}.exists(f, {_KEY} && {_EFFECT} && {_EQUAL} && {_VALUE}))"
    is_own = f"({_OF_THE_APISERVER} || (d.operator == 'Exists' ? {exists} : (has(d.values) && {equal})))"
    return Rule(
        "!has(self.default) || !has(self.default.tolerations) || !has(self.allowed)"
        f" || !has({_FORMS}) || size({_FORMS}) == 0 || self.default.tolerations.all(d, {is_own})",
        _TOLERATIONS,
        field_path=".default.tolerations",
    )


_KINDS: Final = {
    "nodeAffinity": "nodeAffinities",
    "podAffinity": "podAffinities",
    "podAntiAffinity": "podAntiAffinities",
}


def _lets_in(section: str, kind: str, part: str) -> str:
    """CEL: the section's affinities let in this part of a kind; an empty level says everything below it."""
    of = f"self.{section}.affinities"
    every = " && ".join(f"!has({of}.{name})" for name in _KINDS.values())
    whole = f"(!has({of}.{kind}.{REQUIRED}) && !has({of}.{kind}.{PREFERRED}))"
    inner = f"({every}) || (has({of}.{kind}) && (has({of}.{kind}.{part}) || {whole}))"
    return f"(has(self.{section}) && has({of}) && ({inner}))"


def _affinity_rule(default: str, kind: str, part: str) -> Rule:
    given = f"self.default.affinity.{default}"
    speaks = " || ".join(
        f"(has(self.{section}) && has(self.{section}.affinities))" for section in ("allowed", "required")
    )
    size = f"size({given}.{part}) > 0" if (default, part) != ("nodeAffinity", REQUIRED) else "true"
    return Rule(
        f"!has(self.default) || !has(self.default.affinity) || !has({given}) || !has({given}.{part}) || !({size})"
        f" || !({speaks}) || {_lets_in('allowed', kind, part)} || {_lets_in('required', kind, part)}",
        f"default.affinity.{default}.{part} must be let in by allowed.affinities.{kind} or required.affinities.{kind}",
        field_path=f".default.affinity.{default}",
    )


def _node_forms_rule() -> Rule:
    """Hold keys and operators of the default terms to the forms that are allowed, where nothing is required besides."""
    part = REQUIRED  # of what is preferred too, the cost of all rules together would be too high
    given, forms = f"self.default.affinity.nodeAffinity.{part}", f"self.allowed.affinities.nodeAffinities.{part}"
    is_met = (
        "(has(f.keys) && (size(f.keys) == 0 || r.key in f.keys)"
        " && has(f.operators) && (size(f.operators) == 0 || r.operator in f.operators))"
    )
    is_let_in = (
        f"{forms}.nodeSelectorTerms.exists(a, has(a.matchExpressions)"
        f" && (size(a.matchExpressions) == 0 || a.matchExpressions.exists(f, {is_met})))"
    )
    return Rule(
        f"!has(self.default) || !has(self.default.affinity) || !has(self.default.affinity.nodeAffinity)"
        f" || !has({given}) || (has(self.required) && has(self.required.affinities))"
        " || !has(self.allowed) || !has(self.allowed.affinities) || !has(self.allowed.affinities.nodeAffinities)"
        f" || !has({forms}) || !has({forms}.nodeSelectorTerms) || size({forms}.nodeSelectorTerms) == 0"
        f" || {given}.nodeSelectorTerms.all(t, !has(t.matchExpressions) || t.matchExpressions.all(r, {is_let_in}))",
        f"default.affinity.nodeAffinity.{part} must be of the forms in allowed.affinities.nodeAffinities",
        field_path=".default.affinity.nodeAffinity",
    )


DEFAULT_FORM_RULES: Final = (
    _tolerations_rule(),
    *(_affinity_rule(default, kind, part) for default, kind in _KINDS.items() for part in (REQUIRED, PREFERRED)),
    _node_forms_rule(),
)
"""Of a spec, which has all three sections."""

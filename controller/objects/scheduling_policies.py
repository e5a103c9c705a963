"""SchedulingPolicies as written (`controller.api`) to what pods are judged by (`controller.core`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from msgspec import Raw

from controller.api import scheduling_forms as forms
from controller.api import scheduling_policy as written
from controller.api.parse import InvalidObject, parse_scheduling_policy
from controller.api.scheduling_defaults import Defaults as WrittenDefaults
from controller.api.scheduling_tolerations import DefaultToleration
from controller.core.kubernetes.directives import PREFERRED, REQUIRED
from controller.core.kubernetes.taints import Toleration
from controller.core.pod_policies.policies import Mode
from controller.core.scheduling_policies.policy import (
    Affinities,
    AffinityKind,
    Allowed,
    DefaultAffinity,
    Defaults,
    Form,
    Parts,
    Policy,
    Required,
    TermForm,
    TermForms,
    TolerationForm,
)
from controller.core.scheduling_policies.validity import faults_of_defaults
from controller.kube.decode_ours import decode_ours
from controller.objects.affinities import to_node_affinity, to_pod_terms


@dataclass(frozen=True, slots=True)
class ReadSchedulingPolicy:
    """A policy off the wire: without `policy` it breaks the rules of its kind, and `fault` says how.

    `mode` is what can be told of a faulty one: Enforce where its mode cannot be read.
    """

    name: str
    policy: Policy | None
    fault: str | None = None
    mode: Mode = Mode.ENFORCE


def read_scheduling_policy(raw: Raw) -> ReadSchedulingPolicy:
    """Read a SchedulingPolicy. Raises UnreadableObject for what has no name."""
    document, metadata = decode_ours(raw, "a policy")
    # items of a list carry no kind of their own
    whole: dict[str, Any] = {name: document[name] for name in ("metadata", "spec") if name in document}
    try:
        policy = to_scheduling_policy(parse_scheduling_policy(whole))
    except InvalidObject as error:
        return ReadSchedulingPolicy(metadata.name, None, str(error), _mode(document.get("spec")))
    return ReadSchedulingPolicy(policy.name, policy, mode=policy.mode)


def _mode(spec: object) -> Mode:
    """The mode of a faulty policy: a fault elsewhere must not make one enforced that was to tell only."""
    written_mode = spec.get("mode") if isinstance(spec, dict) else None
    return next((mode for mode in Mode if mode.value == written_mode), Mode.ENFORCE)


def to_scheduling_policy(policy: written.SchedulingPolicy) -> Policy:
    """Return the policy as pods are judged by it. Raises InvalidObject when its defaults are outside its own forms."""
    spec = policy.spec
    result = Policy(
        name=policy.metadata.name,
        mode=Mode(spec.mode),
        required=_required(spec.required or written.Required()),
        allowed=_allowed(spec.allowed or written.Allowed()),
        default=_defaults(spec.default or WrittenDefaults()),
    )
    faults = faults_of_defaults(result)
    if faults:
        raise InvalidObject(f"{policy.definition.resource}/{result.name}", faults)
    return result


def _required(section: written.Required) -> Required:
    return Required(
        scheduler_names=section.scheduler_names,
        priority_class_names=section.priority_class_names,
        runtime_class_names=section.runtime_class_names,
        node_selectors=section.node_selectors,
        affinities=_affinities(section.affinities),
    )


def _allowed(section: written.Allowed) -> Allowed:
    return Allowed(
        scheduler_names=section.scheduler_names,
        priority_class_names=section.priority_class_names,
        runtime_class_names=section.runtime_class_names,
        node_names=section.node_names,
        node_selectors=section.node_selectors,
        tolerations=None
        if section.tolerations is None
        else tuple(
            TolerationForm(keys=one.keys, operators=one.operators, values=one.values, effects=one.effects)
            for one in section.tolerations
        ),
        affinities=_affinities(section.affinities),
    )


def _affinities(affinities: forms.AllowedAffinities | forms.RequiredAffinities | None) -> Affinities | None:
    if affinities is None:
        return None
    kinds = {
        AffinityKind.NODE: affinities.node_affinities,
        AffinityKind.TOGETHER: affinities.pod_affinities,
        AffinityKind.APART: affinities.pod_anti_affinities,
    }
    return {kind: _parts(parts) for kind, parts in kinds.items() if parts is not None}


def _parts(parts: forms.NodeParts | forms.RequiredNodeParts | forms.PodParts) -> Parts:
    written_parts = {
        REQUIRED: parts.required_during_scheduling_ignored_during_execution,
        PREFERRED: parts.preferred_during_scheduling_ignored_during_execution,
    }
    return {name: _terms(part) for name, part in written_parts.items() if part is not None}


def _terms(part: forms.NodeForms | forms.RequiredNodeForms | forms.AnyTerms) -> TermForms:
    if isinstance(part, forms.AnyTerms):
        return ()
    return tuple(
        TermForm(_forms(term.match_expressions), _forms(term.match_fields)) for term in part.node_selector_terms or ()
    )


def _forms(listed: Iterable[forms.ExpressionForm | forms.FieldForm] | None) -> tuple[Form, ...] | None:
    if listed is None:
        return None
    return tuple(Form(keys=one.keys, operators=one.operators, values=one.values) for one in listed)


def _defaults(section: WrittenDefaults) -> Defaults:
    affinity = section.affinity
    required, preferred = to_node_affinity(affinity)
    return Defaults(
        scheduler_name=section.scheduler_name,
        priority_class_name=section.priority_class_name,
        runtime_class_name=section.runtime_class_name,
        node_selector=section.node_selector,
        tolerations=None
        if section.tolerations is None
        else tuple(toleration for one in section.tolerations for toleration in _each(one)),
        affinity=None
        if affinity is None
        else DefaultAffinity(required=required, preferred=preferred, pod_terms=to_pod_terms(affinity)),
    )


def _each(toleration: DefaultToleration) -> Iterable[Toleration]:
    """One toleration for each value, and one where there is none, which is so with Exists."""
    for value in toleration.values or ("",):
        yield Toleration(toleration.key, toleration.operator, value, toleration.effect, toleration.toleration_seconds)

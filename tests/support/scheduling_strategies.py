"""Hypothesis strategies: valid specs of SchedulingPolicies, and specs of pods that have to do with them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from msgspec import Raw

from controller.objects.scheduling_policies import read_scheduling_policy
from tests.support.api_objects import scheduling_policy
from tests.support.pod_documents import raw
from tests.support.pod_update_rules import PREFERRED, REQUIRED
from tests.support.scheduling_oracle import GIVEN_TO_ALL
from tests.support.strategies import KEYS, NUMBERS, VALUES, affinity_documents, requirement_documents

Json = dict[str, Any]

_NODES = ("node-1", "node-2")
_TAINTS = ("spot", "gpu")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_names = st.sampled_from(("x", "y", "z"))
# a label's value cannot be -1, with which an affinity may compare
values = st.sampled_from((*VALUES, *NUMBERS[1:]))
_schedulers = st.sampled_from(("default-scheduler", "x", "y"))


def _some(entries: st.SearchStrategy[str], least: int = 0, most: int = 2) -> st.SearchStrategy[list[str]]:
    return st.lists(entries, min_size=least, max_size=most, unique=True)


def _optional(**entries: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries({}, optional=entries)


def _forms(keys: tuple[str, ...], operators: tuple[str, ...], of: st.SearchStrategy[str]) -> st.SearchStrategy[Json]:
    return _optional(
        keys=_some(st.sampled_from(keys)), operators=_some(st.sampled_from(operators), most=3), values=_some(of, most=4)
    )


_expressions = _forms(KEYS, ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"), values)
_fields = _forms(("metadata.name",), ("In", "NotIn"), st.sampled_from(_NODES))


def _term_forms(least: int) -> st.SearchStrategy[Json]:
    return _optional(
        matchExpressions=st.lists(_expressions, min_size=least, max_size=2),
        matchFields=st.lists(_fields, min_size=least, max_size=1),
    ).filter(lambda term: bool(term) or not least)


def _sole_forms() -> st.SearchStrategy[Json]:
    form = st.builds(
        lambda key, value: {"keys": [key], "operators": ["In"], "values": [value]}, st.sampled_from(KEYS), values
    )
    return form.map(lambda one: {"matchExpressions": [one]})


def _affinities(least: int) -> st.SearchStrategy[Json]:
    terms = st.lists(_term_forms(least) | _sole_forms() if least else _term_forms(0), min_size=least, max_size=2)
    nodes = _optional(nodeSelectorTerms=terms)
    kinds = _optional(
        nodeAffinities=_optional(**{REQUIRED: nodes, PREFERRED: nodes}),
        podAffinities=_optional(**{REQUIRED: st.just({}), PREFERRED: st.just({})}),
        podAntiAffinities=_optional(**{REQUIRED: st.just({}), PREFERRED: st.just({})}),
    )
    return kinds.filter(lambda named: bool(named) or not least)


def _default_affinities() -> st.SearchStrategy[Json]:
    term = st.lists(requirement_documents(), min_size=1, max_size=2).map(lambda said: {"matchExpressions": said})
    required = st.lists(term, min_size=1, max_size=2).map(lambda terms: {"nodeSelectorTerms": terms})
    preferred = st.lists(st.fixed_dictionaries({"weight": st.just(1), "preference": term}), min_size=1, max_size=2)
    pods = st.just([{"topologyKey": "zone"}])
    weighed = st.just([{"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}}])
    return _optional(
        nodeAffinity=_optional(**{REQUIRED: required, PREFERRED: preferred}),
        podAffinity=_optional(**{REQUIRED: pods, PREFERRED: weighed}),
        podAntiAffinity=_optional(**{REQUIRED: pods, PREFERRED: weighed}),
    )


def _default_tolerations() -> st.SearchStrategy[Json]:
    equal = st.fixed_dictionaries({"key": st.sampled_from(_TAINTS), "values": _some(_names, 1)})
    exists = st.fixed_dictionaries(
        {"key": st.sampled_from(_TAINTS), "operator": st.just("Exists")}, optional={"effect": st.sampled_from(_EFFECTS)}
    )
    return equal | exists


def _toleration_forms() -> st.SearchStrategy[Json]:
    return _optional(
        keys=_some(st.sampled_from(_TAINTS)),
        operators=_some(st.sampled_from(("Equal", "Exists"))),
        values=_some(_names),
        effects=_some(st.sampled_from(_EFFECTS), most=3),
    )


def allowed_sections() -> st.SearchStrategy[Json]:
    return _optional(
        schedulerNames=_some(_schedulers),
        priorityClassNames=_some(_names),
        runtimeClassNames=_some(_names),
        nodeNames=_some(st.sampled_from(_NODES)),
        nodeSelectors=st.dictionaries(st.sampled_from(KEYS), _some(values, most=4), max_size=2),
        tolerations=st.lists(_toleration_forms(), max_size=2),
        affinities=_affinities(0),
    )


def _required_sections() -> st.SearchStrategy[Json]:
    return _optional(
        schedulerNames=_some(_schedulers, 1),
        priorityClassNames=_some(_names, 1),
        runtimeClassNames=_some(_names, 1),
        nodeSelectors=st.dictionaries(st.sampled_from(KEYS), _some(values, 1), min_size=1, max_size=2),
        affinities=_affinities(1),
    )


def _default_sections() -> st.SearchStrategy[Json]:
    return _optional(
        schedulerName=_schedulers,
        priorityClassName=_names,
        runtimeClassName=_names,
        nodeSelector=st.dictionaries(st.sampled_from(KEYS), values, min_size=1, max_size=2),
        tolerations=st.lists(_default_tolerations(), min_size=1, max_size=2),
        affinity=_default_affinities(),
    )


@st.composite
def policy_specs(draw: st.DrawFn) -> Json:
    """A valid spec; a default that its own lists do not let by is taken away."""
    spec: Json = draw(_optional(required=_required_sections(), allowed=allowed_sections()))
    for entry, value in draw(_default_sections()).items():
        more = {**spec, "default": {**spec.get("default", {}), entry: value}}
        if read_scheduling_policy(Raw(raw(scheduling_policy(**more)))).policy is not None:
            spec = more
    return spec


def pod_specs() -> st.SearchStrategy[Json]:
    toleration = st.fixed_dictionaries(
        {"operator": st.just("Exists")}, optional={"key": st.sampled_from(_TAINTS), "effect": st.sampled_from(_EFFECTS)}
    ) | st.fixed_dictionaries(
        {"key": st.sampled_from(_TAINTS), "operator": st.just("Equal"), "value": _names},
        optional={"effect": st.sampled_from(_EFFECTS)},
    )
    return _optional(
        schedulerName=_schedulers,
        priorityClassName=_names,
        runtimeClassName=_names,
        nodeName=st.sampled_from(_NODES),
        nodeSelector=st.dictionaries(st.sampled_from(KEYS), values, max_size=2),
        tolerations=st.lists(toleration | st.sampled_from(GIVEN_TO_ALL), max_size=3),
        affinity=affinity_documents(),
    )

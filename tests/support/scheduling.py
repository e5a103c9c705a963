"""Builders for tests of SchedulingPolicies: policies and pods as people write them, and what becomes of them."""

from __future__ import annotations

from typing import Any

import yaml
from msgspec import Raw

from controller.core.scheduling_policies.completion import complete
from controller.core.scheduling_policies.judgement import judge
from controller.core.scheduling_policies.merging import Merged, merge
from controller.core.scheduling_policies.pod import NOTHING_EXEMPT, Exempt, Pod
from controller.core.scheduling_policies.policy import MergeOption, Policy
from controller.objects.scheduling_policies import read_scheduling_policy
from tests.support.api_objects import Json, scheduling_policy
from tests.support.pod_documents import raw
from tests.support.pod_update_rules import REQUIRED
from webhook.pods import directives

DEEP = MergeOption.DEEP_MERGE
PODS = [{"topologyKey": "zone", "labelSelector": {}}]


def written(text: str | Json) -> Json:
    """A document that may be YAML."""
    document: Json = yaml.safe_load(text) if isinstance(text, str) else text
    return document


def a_policy(spec: str | Json = "{}", name: str = "schedpol-a", **fields: Any) -> Policy:
    """The policy of a spec, read as an informer reads it."""
    document = scheduling_policy(name, **{**written(spec), **fields})
    read = read_scheduling_policy(Raw(raw(document)))
    assert read.policy is not None, read.fault
    return read.policy


def a_pod(spec: str | Json = "{}", exempt: Exempt = NOTHING_EXEMPT) -> Pod:
    """The pod of a spec."""
    document = written(spec)
    said = directives.read(document)
    assert said is not None
    return Pod(
        directives=said,
        priority_class=document.get("priorityClassName", ""),
        runtime_class=document.get("runtimeClassName", ""),
        exempt=exempt,
    )


def as_one(*specs: str | Json, option: MergeOption = DEEP) -> Merged:
    """Policies schedpol-a, schedpol-b and so on, merged."""
    return merge([a_policy(spec, f"schedpol-{chr(ord('a') + n)}") for n, spec in enumerate(specs)], option)


def given(pod: str | Json, *specs: str) -> tuple[tuple[str, str], ...]:
    """What is added to the pod: paths and values."""
    return tuple((one.path, one.value) for one in complete(a_pod(pod), as_one(*specs)).additions)


def faults(pod: Pod, merged: Merged) -> list[str]:
    """What is said of the pod as it is."""
    return [violation.text for violation in judge(pod, merged)]


def is_admitted(pod: str | Json | Pod, *specs: str | Json | Merged) -> bool:
    """Whether the pod, once complete, is admitted by these policies or by what was merged of them."""
    whole = pod if isinstance(pod, Pod) else a_pod(pod)
    merged = (
        specs[0] if isinstance(specs[0], Merged) else as_one(*(one for one in specs if not isinstance(one, Merged)))
    )
    return not judge(complete(whole, merged).pod, merged)


def needs(*terms: str) -> Json:
    """A pod with required node affinity; a term is `key Operator a,b & key Operator c`."""

    def requirement(text: str) -> Json:
        key, operator, *values = text.split()
        return {"key": key, "operator": operator, "values": values[0].split(",") if values else []}

    listed = [{"matchExpressions": [requirement(one) for one in term.split(" & ")]} for term in terms]
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": listed}}}}


EVERY_KIND: tuple[Json, ...] = (
    needs("any Exists"),
    {"affinity": {"podAffinity": {REQUIRED: PODS}}},
    {"affinity": {"podAntiAffinity": {REQUIRED: PODS}}},
)
"""A pod with affinity to nodes, one to pods, one away from pods."""


def nodes(section: str, *terms: str, part: str = REQUIRED) -> str:
    """A policy with node affinity; a term is YAML of a list of forms."""
    listed = ", ".join(f"{{matchExpressions: {term}}}" for term in terms)
    return f"{section}: {{affinities: {{nodeAffinities: {{{part}: {{nodeSelectorTerms: [{listed}]}}}}}}}}"

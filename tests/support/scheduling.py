"""Builders for tests of SchedulingPolicies: policies and pods as people write them, and what becomes of them."""

from __future__ import annotations

from typing import Any

import yaml
from msgspec import Raw

from controller.cache.scheduling_policies import read_scheduling_policy
from controller.core.scheduling_policies.completion import complete
from controller.core.scheduling_policies.judgement import judge
from controller.core.scheduling_policies.merging import Merged, merge
from controller.core.scheduling_policies.pod import NOTHING_EXEMPT, Exempt, Pod
from controller.core.scheduling_policies.policy import MergeOption, Policy
from tests.support.api_objects import Json, scheduling_policy
from tests.support.pod_documents import raw
from webhook import directives

DEEP = MergeOption.DEEP_MERGE


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
    return merge([a_policy(spec, f"schedpol-{'abcdefgh'[n]}") for n, spec in enumerate(specs)], option)


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

"""Look-ups of entries in one policy, each None where it has none: with them `merging.Merged` says who spoke of what."""

from __future__ import annotations

from collections.abc import Callable

from controller.core.kubernetes.directives import REQUIRED, PodTermList
from controller.core.scheduling_policies.forms import allowed_part, required_part
from controller.core.scheduling_policies.policy import AffinityKind, DefaultAffinity, Policy, TermForms

Entry = Callable[[Policy], object]


def required_selector(key: str) -> Entry:
    """`required.nodeSelectors[key]`."""
    return lambda policy: (policy.required.node_selectors or {}).get(key)


def allowed_selector(key: str) -> Entry:
    """`allowed.nodeSelectors[key]`."""
    return lambda policy: (policy.allowed.node_selectors or {}).get(key)


def default_selector(key: str) -> Entry:
    """`default.nodeSelector[key]`."""
    return lambda policy: (policy.default.node_selector or {}).get(key)


def required_kind(kind: AffinityKind) -> Entry:
    """`required.affinities.KIND`."""
    return lambda policy: (policy.required.affinities or {}).get(kind)


def required_terms(kind: AffinityKind, part: str, forms: TermForms) -> Entry:
    """`required.affinities.KIND.PART`, with the forms that it has come to have."""
    return lambda policy: True if required_part(policy.required.affinities, kind, part) == forms else None


def permitted_affinity(kind: AffinityKind, part: str) -> Entry:
    """`allowed.affinities.KIND.PART`, or the same of what is required, which is allowed too."""

    def look_up(policy: Policy) -> object:
        allowed = allowed_part(policy.allowed.affinities, kind, part)
        return allowed_part(policy.required.affinities, kind, part) if allowed is None else allowed

    return look_up


def default_nodes(part: str) -> Entry:
    """`default.affinity.nodeAffinity.PART`."""

    def look_up(policy: Policy) -> object:
        affinity = policy.default.affinity or DefaultAffinity()
        return affinity.required if part == REQUIRED else affinity.preferred or None

    return look_up


def default_pods(place: PodTermList) -> Entry:
    """`default.affinity.podAffinity.PART` and the same of podAntiAffinity."""
    return lambda policy: (policy.default.affinity or DefaultAffinity()).pod_terms.get(place)

"""Several policies as one: the three options of the proposal, always in the alphabetic order of names.

What is merged stays traceable: `Merged` knows its policies and says which of them spoke of an entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeVar

from controller.core.scheduling_policies.policy import (
    Affinities,
    Allowed,
    DefaultAffinity,
    Defaults,
    MergeOption,
    NodeSelectors,
    Parts,
    Policy,
    Required,
)

_K = TypeVar("_K")
_V = TypeVar("_V")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """One policy made of `policies`, those that count: all of an account, in order, or with FirstPolicy its first."""

    policies: tuple[Policy, ...]
    option: MergeOption
    required: Required
    allowed: Allowed
    default: Defaults

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the policies, in order."""
        return tuple(policy.name for policy in self.policies)

    @property
    def speaks_of_runtime_classes(self) -> bool:
        """Whether anything is said about classes: policies that are silent on them do not forbid them."""
        return (
            self.required.runtime_class_names is not None
            or self.allowed.runtime_class_names is not None
            or self.default.runtime_class_name is not None
        )

    def speaking(self, *entries: Callable[[Policy], object]) -> tuple[str, ...]:
        """Name, in order, the policies whose say became these merged allowed entries, each a look-up in one policy.

        A look-up that returns None says that its policy does not speak of the entry.
        """
        found: set[str] = set()
        for entry in entries:
            names = [policy.name for policy in self.policies if entry(policy) is not None]
            found.update(names[:1] if self.option is MergeOption.FIRST_ENTRY else names)
        return tuple(sorted(found))

    def giver(self, entry: Callable[[Policy], object]) -> str:
        """Name the policy that a required or default entry is from: in every option the first that has it.

        `entry` looks it up in one policy, and is None where that has none.
        """
        return next(policy.name for policy in self.policies if entry(policy) is not None)


def merge(policies: Iterable[Policy], option: MergeOption) -> Merged:
    """Merge the policies, whatever the order in which they come. Of none comes what allows and demands nothing."""
    in_order = tuple(sorted(policies, key=lambda policy: policy.name))
    if option is MergeOption.FIRST_POLICY:
        in_order = in_order[:1]
    is_deep = option is not MergeOption.FIRST_ENTRY
    return Merged(
        policies=in_order,
        option=option,
        required=_required([policy.required for policy in in_order], is_deep=is_deep),
        allowed=_allowed([policy.allowed for policy in in_order], is_deep=is_deep),
        default=_defaults([policy.default for policy in in_order], is_deep=is_deep),
    )


def _required(each: Sequence[Required], *, is_deep: bool) -> Required:
    return Required(
        scheduler_names=_fold(_keep, (one.scheduler_names for one in each)),
        priority_class_names=_fold(_keep, (one.priority_class_names for one in each)),
        runtime_class_names=_fold(_keep, (one.runtime_class_names for one in each)),
        node_selectors=_fold(_fill if is_deep else _keep, (one.node_selectors for one in each)),
        affinities=_fold(_fill_parts if is_deep else _keep, (one.affinities for one in each)),
    )


def _allowed(each: Sequence[Allowed], *, is_deep: bool) -> Allowed:
    return Allowed(
        scheduler_names=_fold(_add if is_deep else _keep, (one.scheduler_names for one in each)),
        priority_class_names=_fold(_add if is_deep else _keep, (one.priority_class_names for one in each)),
        runtime_class_names=_fold(_add if is_deep else _keep, (one.runtime_class_names for one in each)),
        node_names=_fold(_add if is_deep else _keep, (one.node_names for one in each)),
        node_selectors=_fold(_add_selectors if is_deep else _keep, (one.node_selectors for one in each)),
        tolerations=_fold(_add if is_deep else _keep, (one.tolerations for one in each)),
        affinities=_fold(_add_affinities if is_deep else _keep, (one.affinities for one in each)),
    )


def _defaults(each: Sequence[Defaults], *, is_deep: bool) -> Defaults:
    return Defaults(
        scheduler_name=_fold(_keep, (one.scheduler_name for one in each)),
        priority_class_name=_fold(_keep, (one.priority_class_name for one in each)),
        runtime_class_name=_fold(_keep, (one.runtime_class_name for one in each)),
        node_selector=_fold(_fill if is_deep else _keep, (one.node_selector for one in each)),
        tolerations=_fold(_keep, (one.tolerations for one in each)),
        affinity=_fold(_fill_affinity if is_deep else _keep, (one.affinity for one in each)),
    )


def _fold(join: Callable[[_T, _T], _T], values: Iterable[_T | None]) -> _T | None:
    """Join what is given, from the first to the last; absent adds nothing."""
    given = [value for value in values if value is not None]
    return reduce(join, given) if given else None


# -- first-seen wins: of the whole, or of each key below it ---------------------------------------------------------


def _keep(first: _T, _: _T) -> _T:
    return first


def _fill(first: Mapping[_K, _V], second: Mapping[_K, _V]) -> Mapping[_K, _V]:
    return {**first, **{key: value for key, value in second.items() if key not in first}}


def _fill_parts(first: Affinities, second: Affinities) -> Affinities:
    return {kind: _fill_terms(first.get(kind, {}), second.get(kind, {})) for kind in _fill(first, second)}


def _fill_terms(first: Parts, second: Parts) -> Parts:
    """A part that demands no more than something still has room for the terms of a later policy."""
    return {part: first.get(part) or second.get(part, ()) for part in _fill(first, second)}


def _fill_affinity(first: DefaultAffinity, second: DefaultAffinity) -> DefaultAffinity:
    return DefaultAffinity(
        required=second.required if first.required is None else first.required,
        preferred=first.preferred or second.preferred,
        pod_terms=_fill(first.pod_terms, second.pod_terms),
    )


# -- additive: empty is everything and absorbs ----------------------------------------------------------------------


def _add(first: tuple[_T, ...], second: tuple[_T, ...]) -> tuple[_T, ...]:
    return tuple(dict.fromkeys((*first, *second))) if first and second else ()


def _add_keys(first: Mapping[_K, _V], second: Mapping[_K, _V], join: Callable[[_V, _V], _V]) -> Mapping[_K, _V]:
    if not first or not second:
        return {}
    both = {key: join(value, second[key]) for key, value in first.items() if key in second}
    return {**first, **second, **both}


def _add_selectors(first: NodeSelectors, second: NodeSelectors) -> NodeSelectors:
    return _add_keys(first, second, _add)


def _add_parts(first: Parts, second: Parts) -> Parts:
    return _add_keys(first, second, _add)


def _add_affinities(first: Affinities, second: Affinities) -> Affinities:
    return _add_keys(first, second, _add_parts)

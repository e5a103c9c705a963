"""PriorityClasses: which one pods get that name none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityClass:
    """scheduling.k8s.io/v1 PriorityClass, as far as defaults go."""

    name: str
    value: int = 0
    is_default: bool = False


def default_of(classes: Iterable[PriorityClass]) -> str:
    """Return the name of the cluster's default class, empty where there is none.

    Mirrors `getDefaultPriorityClass` of k8s.io/kubernetes/plugin/pkg/admission/priority: of several, which may come
    about when they are written at once, the one of the lowest value.
    """
    defaults = [one for one in classes if one.is_default]
    return min(defaults, key=lambda one: (one.value, one.name)).name if defaults else ""

"""What completes templates, from informers: PriorityClasses, RuntimeClasses and LimitRanges."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeVar

from controller.cache.cluster import ClusterCache
from controller.cache.keyed import put_or_drop
from controller.cache.sinks import Sink
from controller.core.kubernetes.priority_classes import PriorityClass
from controller.core.kubernetes.runtime_classes import RuntimeClass
from controller.kube.template_defaults import LimitRange, TemplateDefaults

T = TypeVar("T")
K = TypeVar("K")


def priority_classes(cache: ClusterCache, defaults: TemplateDefaults) -> Sink[PriorityClass, str]:
    """PriorityClasses."""
    return _sink(cache, defaults, defaults.priority_classes, attrgetter("name"))


def runtime_classes(cache: ClusterCache, defaults: TemplateDefaults) -> Sink[RuntimeClass, str]:
    """RuntimeClasses."""
    return _sink(cache, defaults, defaults.runtime_classes, attrgetter("name"))


def limit_ranges(cache: ClusterCache, defaults: TemplateDefaults) -> Sink[LimitRange, tuple[str, str]]:
    """LimitRanges."""
    return _sink(cache, defaults, defaults.limit_ranges, attrgetter("namespace", "name"))


def _sink(cache: ClusterCache, defaults: TemplateDefaults, known: dict[K, T], key: Callable[[Any], K]) -> Sink[T, K]:
    def put(name: K, one: T | None) -> None:
        if known.get(name) != one:
            put_or_drop(known, name, one)
            defaults.version += 1

    return Sink(
        cache,
        key=key,
        known=lambda: known,
        put=lambda one: put(key(one), one),
        drop=lambda name: put(name, None),
    )

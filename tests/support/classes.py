"""A world with RuntimeClasses in it, for tests of the step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controller.core.keys import DEFAULT_RUNTIME_CLASS
from controller.core.kubernetes.runtime_classes import RuntimeClass
from controller.core.kubernetes.taints import Toleration
from tests.support.worlds import EmptyWorld


class Classes:
    """Some classes, one of which may be the cluster's default."""

    def __init__(self, *classes: RuntimeClass, default: str | None = None) -> None:
        self.default = default
        self._classes = {one.name: one for one in classes}

    def get(self, name: str) -> RuntimeClass | None:
        return self._classes.get(name)

    def names(self) -> Sequence[str]:
        return list(self._classes)


class ClassyWorld(EmptyWorld):
    """Every queue exists; every namespace has the same labels, of which `namespace_default` is one."""

    def __init__(
        self, *classes: RuntimeClass, default: str | None = None, namespace_default: str | None = None, **labels: str
    ) -> None:
        self.runtime_classes = Classes(*classes, default=default)
        of_namespace = {} if namespace_default is None else {DEFAULT_RUNTIME_CLASS: namespace_default}
        self._labels = {**labels, **of_namespace}

    def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        return self._labels

    def has_local_queue(self, namespace: str, name: str) -> bool:
        return True


def a_class(
    name: str = "kata",
    *tolerations: Toleration,
    selector: Mapping[str, str] | None = None,
    **overhead: Any,
) -> RuntimeClass:
    """A class with scheduling rules, which may be empty."""
    return RuntimeClass(
        name=name, handler=name, node_selector=selector or {}, tolerations=tolerations, overhead=overhead
    )

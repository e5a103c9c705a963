"""The RuntimeClasses of a live cluster, kept by an informer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from controller.core.kubernetes.runtime_classes import RuntimeClass
from controller.kube.wire import Owned

PATH: Final = "/apis/node.k8s.io/v1/runtimeclasses"


class KnownClasses:
    """All classes by name, and the cluster's default."""

    def __init__(self, default: str | None) -> None:
        self.default = default
        self._classes: dict[str, RuntimeClass] = {}

    def replace(self, items: Iterable[RuntimeClass]) -> None:
        """All classes there are."""
        self._classes = {item.name: item for item in items}

    def upsert(self, item: RuntimeClass) -> None:
        """One class is new or changed."""
        self._classes[item.name] = item

    def remove(self, gone: Owned) -> None:
        """One class is gone."""
        self._classes.pop(gone.name, None)

    def get(self, name: str) -> RuntimeClass | None:
        """Return a class, None when there is none."""
        return self._classes.get(name)

    def names(self) -> list[str]:
        """Names of all classes."""
        return list(self._classes)

    def and_also(self, found: RuntimeClass) -> KnownClasses:
        """These and one more: for a single review, since only the informer knows when a class is gone."""
        more = KnownClasses(self.default)
        more.replace([*self._classes.values(), found])
        return more

"""The RuntimeClasses of a live cluster: kept by an informer, and asked for when the informer may be behind.

The apiserver asks live for a class that its cache does not know, so that a class and its first pod can be made at
once. Without the same here we would refuse what it has just let in.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from urllib.parse import quote

from controller.core.runtime_classes import RuntimeClass
from controller.kube.client import Client
from controller.kube.decode import decode_runtime_class
from controller.kube.errors import KubeError, NotFound
from controller.telemetry import logs

PATH: Final = "/apis/node.k8s.io/v1/runtimeclasses"

_ASK_SECONDS = 1.0
"""Of the 2 s that the apiserver waits for us."""

_log = logs.get("runtime_classes")


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

    def remove(self, item: RuntimeClass) -> None:
        """One class is gone."""
        self._classes.pop(item.name, None)

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


async def ask(client: Client, name: str) -> RuntimeClass | None:
    """Read one class from the apiserver; None when there is none, or no answer in time."""
    try:
        return decode_runtime_class(await client.get(f"{PATH}/{quote(name, safe='')}", seconds=_ASK_SECONDS))
    except NotFound:
        return None
    except KubeError as error:
        _log.warning("runtime_class_not_read", runtime_class=name, error=str(error))
        return None

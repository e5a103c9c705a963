"""PriorityClasses, as far as the apiserver's Priority admission writes them into pods before the webhook is asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Raw
from msgspec.json import Decoder

from controller.kube.errors import UnreadableObject
from controller.kube.wire import Owned

_BUILT_IN: Final = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}


class PriorityClass(msgspec.Struct, rename="camel"):
    """scheduling.k8s.io/v1 PriorityClass."""

    metadata: Owned
    value: int
    global_default: bool = False
    preemption_policy: str = "PreemptLowerPriority"


_class = Decoder(PriorityClass)


def read_priority_class(raw: Raw) -> PriorityClass:
    """Read a PriorityClass; raise UnreadableObject when the bytes are none."""
    try:
        return _class.decode(raw)
    except msgspec.DecodeError as error:
        raise UnreadableObject(f"priorityclass: {error}") from error


class Priorities:
    """All classes by name, with the two that every cluster has."""

    def __init__(self) -> None:
        self.are_known = True
        """False where the cluster does not let us read them: then nothing is filled in."""
        self._classes: dict[str, PriorityClass] = {}
        self.replace(())

    def replace(self, items: Iterable[PriorityClass]) -> None:
        """All classes there are."""
        built_in = (PriorityClass(Owned(name=name), value) for name, value in _BUILT_IN.items())
        self._classes = {one.metadata.name: one for one in (*built_in, *items)}

    def fields(self, spec: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return what the apiserver writes into this spec; None when the class is not known here."""
        name = spec.get("priorityClassName") or ""
        if not self.are_known:
            return None
        if not name:
            defaults = [one for one in self._classes.values() if one.global_default]
            if not defaults:
                return {"priority": 0, "preemptionPolicy": "PreemptLowerPriority"}
            # of several the apiserver takes the least, as PriorityClass admission does
            name = min(defaults, key=lambda one: one.value).metadata.name
        found = self._classes.get(name)
        if found is None:
            return None
        return {"priorityClassName": name, "priority": found.value, "preemptionPolicy": found.preemption_policy}

"""The three fields of a pod that name one thing: its scheduler, PriorityClass and RuntimeClass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from controller.core.kubernetes.directives import DEFAULT_SCHEDULER
from controller.core.scheduling_policies.merging import Merged
from controller.core.scheduling_policies.pod import Pod
from controller.core.scheduling_policies.policy import Allowed, Defaults, Names, Required


@dataclass(frozen=True, slots=True, kw_only=True)
class NameField:
    """Where a name stands in a pod and in the sections of a policy."""

    path: str
    entry: str
    default_entry: str
    required: Callable[[Required], Names | None]
    allowed: Callable[[Allowed], Names | None]
    default: Callable[[Defaults], str | None]
    current: Callable[[Pod], str]
    """The name that holds for the pod, whoever gave it; empty when there is none."""
    is_used: Callable[[Pod], bool]
    """Whether the pod has a name that not every pod gets."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A name for a pod that uses none, and the entry of the policy that it is from."""

    name: str
    entry: str
    policy: str


def wanted(name: NameField, pod: Pod, merged: Merged) -> Wanted | None:
    """Return the name to give to the pod: the only one required, else the default; None if it uses one."""
    if name.is_used(pod):
        return None
    required = name.required(merged.required)
    if required is not None and len(required) == 1:
        giver = merged.giver(lambda policy: name.required(policy.required))
        return Wanted(required[0], f"required.{name.entry}", giver)
    default = name.default(merged.default)
    if default is None:
        return None
    return Wanted(default, f"default.{name.default_entry}", merged.giver(lambda policy: name.default(policy.default)))


SCHEDULER: Final = NameField(
    path="spec.schedulerName",
    entry="schedulerNames",
    default_entry="schedulerName",
    required=attrgetter("scheduler_names"),
    allowed=attrgetter("scheduler_names"),
    default=attrgetter("scheduler_name"),
    current=lambda pod: pod.directives.scheduler_name or DEFAULT_SCHEDULER,
    is_used=lambda pod: pod.directives.scheduler_name != "",
)
PRIORITY_CLASS: Final = NameField(
    path="spec.priorityClassName",
    entry="priorityClassNames",
    default_entry="priorityClassName",
    required=attrgetter("priority_class_names"),
    allowed=attrgetter("priority_class_names"),
    default=attrgetter("priority_class_name"),
    current=lambda pod: pod.priority_class,
    is_used=lambda pod: pod.priority_class not in ("", pod.exempt.priority_class),
)
RUNTIME_CLASS: Final = NameField(
    path="spec.runtimeClassName",
    entry="runtimeClassNames",
    default_entry="runtimeClassName",
    required=attrgetter("runtime_class_names"),
    allowed=attrgetter("runtime_class_names"),
    default=attrgetter("runtime_class_name"),
    current=lambda pod: pod.runtime_class,
    is_used=lambda pod: pod.runtime_class != "",
)

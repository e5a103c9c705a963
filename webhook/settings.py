"""What can be set from outside; `python -m webhook --help` says what each means."""

from __future__ import annotations

from dataclasses import dataclass

from controller.core.keys import BREAK_GLASS
from controller.core.scheduling_policies.policy import MergeOption
from controller.telemetry.http import Address


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The options of the program, apart from its certificate and its log."""

    kubeconfig: str | None
    context: str | None
    address: Address
    http_address: Address
    runtime_classes: bool = False
    default_runtime_class: str | None = None
    pod_policies: bool = False
    scheduling_policies: bool = False
    scheduling_policy_merge: MergeOption = MergeOption.DEEP_MERGE
    trusted_users: frozenset[str] = frozenset()
    break_glass_group: str = BREAK_GLASS

    @property
    def judges_runtime_classes(self) -> bool:
        """Whether RuntimeClasses are read at all: defaults and SchedulingPolicies are worth nothing without them."""
        return self.runtime_classes or self.default_runtime_class is not None or self.scheduling_policies

"""Policies as the controller knows them: how many pods carry each, and which can work as written.

For their status alone: who merges them into pods, and judges pods by them, is the webhook.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from controller.core.keys import SCHEDULING_POLICY_ENTRY
from controller.core.pod_policies.policies import Mode, Policy, contradictions

Key = tuple[str, str]
"""(namespace, name); cluster-wide policies have an empty namespace."""


@dataclass(frozen=True, slots=True)
class KnownPolicy:
    """A policy that can be read, and what in it rules itself out; worked out once, when it is written."""

    policy: Policy
    contradictions: str


class PolicyBook:
    """Counts by the policy's name on pods, and policies by key; of SchedulingPolicies, by name, only the mode."""

    def __init__(self) -> None:
        self.known: dict[Key, KnownPolicy] = {}
        self.scheduling: dict[str, Mode] = {}
        """Of those that are valid."""
        self._pods: Counter[str] = Counter()

    def count(self, key: Key) -> int:
        """How many pods carry the pod scheduling policy."""
        namespace, name = key
        return self._pods[f"{namespace}/{name}" if namespace else name]

    def count_scheduling(self, name: str) -> int:
        """How many pods carry the SchedulingPolicy."""
        return self._pods[f"{SCHEDULING_POLICY_ENTRY}{name}"]

    def move(self, former: tuple[str, ...], now: tuple[str, ...]) -> None:
        """A pod that carried the former policies carries these now."""
        if former is now or former == now:
            return
        for name in former:
            self._pods[name] -= 1
            if not self._pods[name]:
                del self._pods[name]
        self._pods.update(now)

    def put(self, key: Key, policy: Policy | None) -> None:
        """Take in a pod scheduling policy, or forget it."""
        if policy is None:
            self.known.pop(key, None)
        else:
            self.known[key] = KnownPolicy(policy, contradictions(policy))

    def put_scheduling(self, name: str, mode: Mode | None) -> None:
        """Take in a SchedulingPolicy, or forget it."""
        if mode is None:
            self.scheduling.pop(name, None)
        else:
            self.scheduling[name] = mode

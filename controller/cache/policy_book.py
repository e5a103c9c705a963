"""Pod scheduling policies as the controller knows them: how many pods carry each, and which can work as written.

For their status alone: who merges them into pods is the webhook.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from controller.core.pod_policies import Policy, contradictions

Key = tuple[str, str]
"""(namespace, name); cluster-wide policies have an empty namespace."""


@dataclass(frozen=True, slots=True)
class KnownPolicy:
    """A policy that can be read, and what in it rules itself out; worked out once, when it is written."""

    policy: Policy
    contradictions: str


class PolicyBook:
    """Counts by the policy's name on pods, and policies by key."""

    def __init__(self) -> None:
        self.known: dict[Key, KnownPolicy] = {}
        self._pods: Counter[str] = Counter()

    def count(self, key: Key) -> int:
        """How many pods carry the policy."""
        namespace, name = key
        return self._pods[f"{namespace}/{name}" if namespace else name]

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
        """Take in a policy, or forget it."""
        if policy is None:
            self.known.pop(key, None)
        else:
            self.known[key] = KnownPolicy(policy, contradictions(policy))

"""What pods meet when they are created: the webhook's World, and what the apiserver's own admission reads.

Filled by lists alone, through the same stores that the webhook's informers fill. Where the lists come from is not here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from controller.cache.pod_policies import PolicySink, ReadPolicy
from controller.cli.policy.priorities import Priorities
from controller.core.pod_policies import Policy, order_key
from controller.kube.wire import Owned
from webhook.cluster_world import ClusterWorld
from webhook.runtime_classes import KnownClasses

NOT_ASKED: Final = frozenset({"kube-system", "kube-node-lease", "kube-public", "penstock-system"})
"""Namespaces whose pods `config/` does not show to the webhook."""

_NAME_LABEL: Final = "kubernetes.io/metadata.name"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The webhook's options that matter here. Pod scheduling policies are on: they are what is asked about."""

    runtime_classes: bool = False
    default_runtime_class: str | None = None

    @property
    def judges_runtime_classes(self) -> bool:
        """Whether the webhook has its RuntimeClass step on."""
        return self.runtime_classes or self.default_runtime_class is not None


class Surroundings:
    """One world, as it was when it was read."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.faults: list[str] = []
        """Policies that are in effect for nobody, and why."""
        self.classes = KnownClasses(settings.default_runtime_class)
        self.priorities = Priorities()
        self.world = ClusterWorld(self.classes if settings.judges_runtime_classes else None, report=self.faults.append)
        self.apiserver = ClusterWorld(self.classes)
        """The same for the RuntimeClass admission of the apiserver, which is always on."""
        self._policies: dict[bool, tuple[Policy, ...]] = {}

    @property
    def policies(self) -> list[Policy]:
        """Every policy in effect, in order."""
        return sorted((policy for kind in self._policies.values() for policy in kind), key=order_key)

    def policy_sink(self, *, cluster_wide: bool) -> _KeepingSink:
        """One kind's way in."""
        return _KeepingSink(self, cluster_wide=cluster_wide)

    def keep(self, policies: Sequence[Policy], *, cluster_wide: bool) -> None:
        """Remember the policies of one kind in a form that can be listed."""
        self._policies[cluster_wide] = tuple(policies)

    def knows_namespace(self, name: str) -> bool:
        """Whether the lists held this namespace."""
        return self.world.namespaces.get("", name) is not None

    def assume_namespace(self, name: str) -> None:
        """Take a namespace that the lists do not hold for one that nobody has labelled."""
        if not self.knows_namespace(name):
            self.world.namespaces.upsert(named_namespace(Owned(name=name)))


class _KeepingSink:
    """Policies for the webhook's store, and for those who list them."""

    def __init__(self, surroundings: Surroundings, *, cluster_wide: bool) -> None:
        self._surroundings = surroundings
        self._cluster_wide = cluster_wide

    def replace(self, items: Iterable[ReadPolicy]) -> None:
        """All there are of the kind."""
        reads = list(items)
        PolicySink(self._surroundings.world.policies, cluster_wide=self._cluster_wide).replace(reads)
        policies = [read.policy for read in reads if read.policy is not None]
        self._surroundings.keep(policies, cluster_wide=self._cluster_wide)


def named_namespace(namespace: Owned) -> Owned:
    """Add the label that the apiserver gives every namespace."""
    namespace.labels = {**(namespace.labels or {}), _NAME_LABEL: namespace.name}
    return namespace

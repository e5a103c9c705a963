"""What pods meet when they are created: the webhook's World, and what the apiserver's own admission reads.

Filled by lists alone, through the same stores that the webhook's informers fill. Where the lists come from is not here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from controller.cache.policies.pod_policies import PolicySink
from controller.cli.policy.priorities import Priorities, PriorityClass
from controller.core.kubernetes import priority_classes
from controller.core.pod_policies.policies import Policy, Target, order_key
from controller.core.scheduling_policies.policy import MergeOption
from controller.kube.wire import Owned
from controller.objects.pod_policies import ReadPolicy
from controller.objects.scheduling_policies import ReadSchedulingPolicy
from webhook.world.account_policies import AccountPolicies
from webhook.world.cluster import ClusterLookups
from webhook.world.runtime_classes import KnownClasses

NOT_ASKED: Final = frozenset({"kube-system", "kube-node-lease", "kube-public", "penstock-system"})
"""Namespaces whose pods `config/` does not show to the webhook."""

UNASKED: Final = (
    "SchedulingPolicies were found, so pods are judged by them (and given RuntimeClasses): the webhook does so only "
    "with --scheduling-policies"
)

_NAME_LABEL: Final = "kubernetes.io/metadata.name"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The webhook's options that matter here. Pod scheduling policies are on: they are what is asked about."""

    runtime_classes: bool = False
    default_runtime_class: str | None = None
    scheduling_policies: bool | None = None
    """None: pods are judged by SchedulingPolicies where there is one: who tests policies wants them judged."""
    scheduling_policy_merge: MergeOption = MergeOption.DEEP_MERGE

    @property
    def judges_runtime_classes(self) -> bool:
        """Whether the webhook has its RuntimeClass step on, whatever policies there are."""
        return self.runtime_classes or self.default_runtime_class is not None or self.scheduling_policies is True


class Surroundings:
    """One world, as it was when it was read."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.faults: list[str] = []
        """Policies that are in effect for nobody, and why."""
        self.classes = KnownClasses(settings.default_runtime_class)
        self.priorities = Priorities()
        self.accounts = AccountPolicies(settings.scheduling_policy_merge, self.faults.append)
        self.world = ClusterLookups(
            self.classes if settings.judges_runtime_classes else None,
            self.accounts if settings.scheduling_policies else None,
            report=self.faults.append,
        )
        self.apiserver = ClusterLookups(self.classes)
        """The same for the RuntimeClass admission of the apiserver, which is always on."""
        self._policies: dict[bool, tuple[Policy, ...]] = {}

    @property
    def policies(self) -> list[Policy]:
        """Every policy in effect, in order."""
        return sorted((policy for kind in self._policies.values() for policy in kind), key=order_key)

    @property
    def for_templates(self) -> list[Policy]:
        """Those that are merged into templates of workloads, in order."""
        return [policy for policy in self.policies if policy.target is Target.POD_TEMPLATES]

    @property
    def judges_accounts(self) -> bool:
        """Whether pods are judged by SchedulingPolicies."""
        return self.world.account_policies is not None

    @property
    def judges_accounts_unasked(self) -> bool:
        """Whether they are because there is one, which a webhook does not go by."""
        return self.judges_accounts and self.settings.scheduling_policies is None

    def take_scheduling_policies(self, policies: Iterable[ReadSchedulingPolicy]) -> None:
        """Take in all SchedulingPolicies, and judge by them unless that was ruled out; RuntimeClasses come with it."""
        if self.settings.scheduling_policies is False:
            return
        self.accounts.policies.replace(policies)
        if self.accounts.policies.valid or self.accounts.policies.faulty:
            self.world.account_policies, self.world.runtime_classes = self.accounts, self.classes

    def leave_out_scheduling_policies(self) -> None:
        """Judge nobody by SchedulingPolicies: who may use which is not known."""
        self.world.account_policies = None
        self.world.runtime_classes = self.classes if self.settings.judges_runtime_classes else None

    def take_priority_classes(self, classes: Iterable[PriorityClass]) -> None:
        """Take in all PriorityClasses, for the apiserver's admission and for SchedulingPolicies."""
        found = list(classes)
        self.priorities.replace(found)
        self.accounts.priority_classes.replace(
            priority_classes.PriorityClass(name=one.metadata.name, value=one.value, is_default=one.global_default)
            for one in found
        )

    def take_workload_priority_classes(self, classes: Iterable[Owned]) -> None:
        """Take in all WorkloadPriorityClasses, of which just the names matter here."""
        if self.world.priority_classes is not None:
            self.world.priority_classes.replace(classes)

    def with_priority(self, pod: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a pod whose class a policy has changed with what the apiserver then works out anew."""
        spec = pod["spec"]
        if "priority" in spec or not spec.get("priorityClassName"):
            return pod
        return {**pod, "spec": {**spec, **(self.priorities.fields(spec) or {})}}

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

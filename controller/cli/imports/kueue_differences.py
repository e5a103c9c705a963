"""Fields of Kueue's queues that have no counterpart, or not quite: what is told of each.

A loss changes which pods are admitted, or onto which nodes; all else is a warning. Flavors and resource groups are told
of where they are converted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from controller.cli.imports.kueue_documents import Found
from controller.cli.imports.kueue_objects import Group, Preemption, QueueSpecV1Beta1
from controller.cli.imports.kueue_report import Report
from controller.core.kubernetes.amounts import demand_amount, supply_amount

_RETURNS = (
    "preempts only pods whose owner recreates them without counting a failure; see allowBarePods and allowJobRetries "
    "of a ClusterQueue"
)
_PAST_USAGE = (
    "write fairSharing.usageHalfLife to the root of its tree, with usageHalfLifeTime of Kueue's configuration: past "
    "usage orders all queues of that tree, after priority instead of before it"
)
_PREFERENCE = (
    "is left out: a later flavor with quota and room, borrowed or not, comes before preemption; then the first in "
    "order where that helps"
)

_DRAIN = (
    "drains only pods whose owner recreates them without counting a failure; see allowBarePods and allowJobRetries "
    "of a ClusterQueue"
)


def tell(found: Found, report: Report) -> None:
    """Report every such field of the object that is not at its default."""
    spec = found.spec
    if found.kind == "WorkloadPriorityClass":
        report.warn(
            found,
            "value",
            "pods name the class by the label penstock.dev/priority-class, instead of kueue.x-k8s.io/priority-class; "
            "a value that changes moves those that wait, which it did not there",
        )
        return
    if found.kind in ("ClusterQueue", "Cohort"):
        _tell_rounding(found, spec.resource_groups, report)
    if found.kind == "ClusterQueue":
        _tell_queue(found, report)
    if found.kind in ("ClusterQueue", "LocalQueue") and spec.stop_policy == "HoldAndDrain":
        report.warn(found, "spec.stopPolicy", _DRAIN)
    if found.kind == "LocalQueue" and found.metadata.name == "default":
        report.warn(
            found,
            "metadata.name",
            "pods that name no queue go to it only when the namespace says so; label it "
            "penstock.dev/default-queue: default",
        )


def _tell_queue(found: Found, report: Report) -> None:
    spec = found.spec
    if _preempts(spec.preemption):
        report.warn(found, "spec.preemption", _RETURNS)
    if spec.flavor_fungibility.preference != "BorrowingOverPreemption":
        report.warn(found, "spec.flavorFungibility.preference", _PREFERENCE)
    for path, name in _checks(found):
        report.lose(
            found, path, f"there are no admission checks, so pods are admitted without waiting for {name}; remove it"
        )
    if spec.admission_scope.admission_mode != "NoAdmissionFairSharing":
        report.warn(found, "spec.admissionScope.admissionMode", _PAST_USAGE)
    if not isinstance(spec, QueueSpecV1Beta1) and spec.concurrent_admission_policy is not None:
        report.warn(
            found,
            "spec.concurrentAdmissionPolicy",
            "a pod takes the first flavor that has quota and room when its turn comes, and stays there",
        )


def _preempts(preemption: Preemption) -> bool:
    return (preemption.within_cluster_queue, preemption.reclaim_within_cohort) != ("Never", "Never")


def _checks(found: Found) -> Iterator[tuple[str, str]]:
    if isinstance(found.spec, QueueSpecV1Beta1):
        for index, name in enumerate(found.spec.admission_checks):
            yield f"spec.admissionChecks[{index}]", name
    for index, check in enumerate(found.spec.admission_checks_strategy.admission_checks):
        yield f"spec.admissionChecksStrategy.admissionChecks[{index}]", check.name


def _tell_rounding(found: Found, groups: Iterable[Group], report: Report) -> None:
    """Kueue rounds quotas up to the unit of the resource (`ResourceValue`), Penstock down."""
    for at, group in enumerate(groups):
        for flavor_at, flavor in enumerate(group.flavors):
            for index, quota in enumerate(flavor.resources):
                path = f"spec.resourceGroups[{at}].flavors[{flavor_at}].resources[{index}]"
                amounts = {
                    "nominalQuota": quota.nominal_quota,
                    "borrowingLimit": quota.borrowing_limit,
                    "lendingLimit": quota.lending_limit,
                }
                for field, text in amounts.items():
                    if text is None or demand_amount(quota.name, text) == supply_amount(quota.name, text):
                        continue
                    report.warn(
                        found, f"{path}.{field}", f"{text} is no whole unit and is rounded down, there it was up"
                    )

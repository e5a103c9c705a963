"""What SchedulingPolicies did with a pod, and by which right: told beside the webhook's answer. Decides nothing."""

from __future__ import annotations

from dataclasses import dataclass

from controller.cli.policy.surroundings import Surroundings
from controller.core.scheduling_policies.completion import Addition
from controller.core.scheduling_policies.levels import enforced
from controller.core.scheduling_policies.outcome import completed
from controller.core.scheduling_policies.policy import MergeOption, Policy
from controller.core.scheduling_policies.rbac import ALL
from webhook.pods import scheduling_pods
from webhook.pods.creators import is_mirror_pod
from webhook.reviews.admission import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountTrace:
    """The account of a pod, the policies that it may use and may not, and what those in mode Enforce gave.

    `counting` are the names of the policies that make up what is enforced; with FirstPolicy the first alone.
    """

    namespace: str
    name: str
    option: MergeOption
    usable: tuple[Policy, ...]
    others: tuple[Policy, ...]
    counting: tuple[str, ...]
    additions: tuple[Addition, ...]


def usable_by(surroundings: Surroundings, namespace: str, account: str) -> tuple[Policy, ...]:
    """Return the SchedulingPolicies that there are and that the account may use, by name."""
    known = surroundings.accounts
    usable = known.access.usable(namespace, account)
    return tuple(policy for policy in known.policies.valid if usable is ALL or policy.name in usable)


def account_trace(request: Request, surroundings: Surroundings) -> AccountTrace | None:
    """Tell what becomes of the pod as its step sees it; None where the step leaves it alone."""
    world = surroundings.world
    pod = scheduling_pods.read(request, request.pod, world)
    if not surroundings.judges_accounts or is_mirror_pod(request) or pod is None:
        return None
    account = scheduling_pods.account(request.pod)
    at = scheduling_pods.levels(request, world)
    first = enforced(at)
    usable = usable_by(surroundings, request.namespace, account)
    return AccountTrace(
        namespace=request.namespace,
        name=account,
        option=surroundings.settings.scheduling_policy_merge,
        usable=usable,
        others=tuple(policy for policy in surroundings.accounts.policies.valid if policy not in usable),
        counting=first.merged.names if first is not None and first.merged is not None else (),
        additions=completed(pod, at).additions,
    )

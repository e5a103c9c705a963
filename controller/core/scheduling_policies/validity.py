"""Whether a policy gives by default only what it allows, as far as the CRD cannot say it."""

from __future__ import annotations

from dataclasses import replace

from controller.core.kubernetes.directives import Directives
from controller.core.scheduling_policies.affinity_judgement import judge_affinities
from controller.core.scheduling_policies.judgement import judge_tolerations
from controller.core.scheduling_policies.merging import merge
from controller.core.scheduling_policies.pod import Pod
from controller.core.scheduling_policies.policy import DefaultAffinity, Defaults, MergeOption, Policy
from controller.core.scheduling_policies.violation import Violation


def faults_of_defaults(policy: Policy) -> tuple[str, ...]:
    """Say which default tolerations and affinities are outside what the policy requires or allows of their kind.

    Where it says nothing of the kind beside its default, that is all that it allows, and cannot be outside.
    """
    default = policy.default
    affinity = default.affinity or DefaultAffinity()
    pod = Pod(
        directives=Directives(
            tolerations=default.tolerations or (),
            required=affinity.required,
            preferred=affinity.preferred,
            pod_terms=affinity.pod_terms,
        )
    )
    alone = merge([replace(policy, default=Defaults())], MergeOption.DEEP_MERGE)
    found: list[Violation] = []
    if policy.allowed.tolerations is not None:
        # a default that lists values is several tolerations, so places in the pod are not those in the policy
        found += [replace(violation, path="spec.tolerations") for violation in judge_tolerations(pod, alone)]
    if policy.allowed.affinities is not None or policy.required.affinities is not None:
        # what is not given by default is no fault of the default
        found += [violation for violation in judge_affinities(pod, alone) if violation.value]
    return tuple(dict.fromkeys(f"spec.default.{violation.text.removeprefix('spec.')}" for violation in found))

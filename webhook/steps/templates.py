"""Step for objects that make pods from a template: merge the policies for templates into it, as into a pod.

A template is treated when it is written, and no later: an update that leaves it as it is must not start a rollout. What
others made from a template of theirs is left alone: a Deployment compares its ReplicaSets with its own template, and
would make new ones for ever if they never were the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from controller.core.gate.users import ALL_CONTROLLERS
from controller.core.kubernetes.pointers import escape
from webhook.pods.limits import limited
from webhook.pods.noted import entries
from webhook.reviews.admission import Answer
from webhook.reviews.lookups import ReviewLookups
from webhook.reviews.patching import Operations
from webhook.reviews.templates import TemplateRequest
from webhook.steps.pod_policies import merge_policies


def mutate_template(request: TemplateRequest, world: ReviewLookups) -> Answer:
    """Give the template what its policies want, or refuse the object, or only tell."""
    inner = request.inner
    # what a release writes on the template of a Job is the flavor's word
    is_release = inner.operation == "UPDATE" and world.trusts(inner.user)
    if is_release or not is_being_written(request) or is_made_from_another(request, world):
        return Answer()
    policies = world.template_policies(inner.namespace)
    # names that were there before are ours: the policy may have gone since
    known = entries(inner.old or {}, scheduling=False)
    is_fixed = request.workload.is_fixed and inner.operation == "UPDATE"
    noun = f"template at {request.path}"
    merging = partial(merge_policies, policies=policies, noun=noun, known=known, is_fixed=is_fixed)
    answer = limited(merging, inner, world)
    return replace(answer, operations=within(request.workload.path, answer.operations))


def is_being_written(request: TemplateRequest) -> bool:
    """Whether this request gives the object its template."""
    inner = request.inner
    if inner.subresource or request.is_terminating or not inner.pod:
        return False
    if inner.operation == "UPDATE":
        if request.workload.is_fixed:
            return _mutable(inner.pod) != _mutable(inner.old or {})
        return inner.pod != inner.old
    return inner.operation == "CREATE"


def is_made_from_another(request: TemplateRequest, world: ReviewLookups) -> bool:
    """Whether its controller made the object from a template of its own. Anybody can write an owner reference."""
    workload, user = request.workload, request.inner.user
    if not (workload.is_revision and request.has_controller):
        return False
    return (bool(workload.maker) and user in (workload.maker, ALL_CONTROLLERS)) or world.makes_from_templates(user)


def _mutable(template: Mapping[str, Any]) -> tuple[Any, ...]:
    """What can be changed of a suspended Job's template and what policies give may be among.

    A user who may change one of these at this moment may change all of them, in every version of Kubernetes; resources
    of containers follow a rule of their own. So nothing is added to an update that the apiserver allows but for us.
    """
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    return (
        *(metadata.get(name) or {} for name in ("labels", "annotations")),
        spec.get("nodeSelector") or {},
        *(spec.get(name) or [] for name in ("tolerations", "schedulingGates")),
        (spec.get("affinity") or {}).get("nodeAffinity"),
    )


def within(path: tuple[str, ...], operations: Operations) -> Operations:
    """Return what is done to a template as it is done to the object that it stands in, at `path`."""
    prefix = "".join(f"/{escape(name)}" for name in path)
    return tuple({**operation, "path": prefix + operation["path"]} for operation in operations)

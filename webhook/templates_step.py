"""Step for objects that make pods from a template: merge the policies for templates into it, as into a pod.

A template is treated when it is written, and no later: an update that leaves it as it is must not start a rollout. What
others made from a template of theirs is left alone: a Deployment compares its ReplicaSets with its own template, and
would make new ones for ever if they never were the same.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from controller.core.pointers import escape
from webhook.limits import limited
from webhook.noted import entries
from webhook.patching import Operations
from webhook.pod_policies_step import merge_policies
from webhook.review import Answer
from webhook.template_review import TemplateRequest
from webhook.world import World


def mutate_template(request: TemplateRequest, world: World) -> Answer:
    """Give the template what its policies want, or refuse the object, or only tell."""
    if not _is_being_written(request):
        return Answer()
    inner = request.inner
    policies = world.template_policies(inner.namespace)
    # names that were there before are ours: the policy may have gone since
    known = entries(inner.old or {}, scheduling=False)
    merging = partial(merge_policies, policies=policies, noun=f"template at {request.path}", known=known)
    answer = limited(merging, inner, world)
    return replace(answer, operations=_within(request.workload.path, answer.operations))


def _is_being_written(request: TemplateRequest) -> bool:
    """Whether this request gives the object its template, and nobody made it from another."""
    inner, workload = request.inner, request.workload
    if inner.subresource or request.is_terminating or (workload.is_revision and request.has_controller):
        return False
    if inner.operation == "UPDATE":
        return not workload.is_fixed and bool(inner.pod) and inner.pod != inner.old
    return inner.operation == "CREATE" and bool(inner.pod)


def _within(path: tuple[str, ...], operations: Operations) -> Operations:
    prefix = "".join(f"/{escape(name)}" for name in path)
    return tuple({**operation, "path": prefix + operation["path"]} for operation in operations)

"""The template of a workload as it is stored: the webhook's answers when the workload itself is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import orjson

from controller.cli.policy.candidates import JudgedPod
from controller.cli.policy.workloads import WORKLOADS, Unusable
from controller.core.kubernetes.directives import DEFAULT_SCHEDULER
from webhook.reviews.admission import Answer, BadReview, Request
from webhook.reviews.lookups import ReviewLookups
from webhook.reviews.patching import applied
from webhook.reviews.templates import TemplateRequest, read_template

Object = Mapping[str, Any]

Review = Callable[[TemplateRequest, ReviewLookups], Answer]
"""What the webhook does at one of its paths for workloads."""


def written(
    candidate: JudgedPod, workload: Object, review: Review, world: ReviewLookups
) -> tuple[Request, Answer, Object]:
    """Return the webhook's request about the template, its answer, and the workload as it is stored. Raises Unusable.

    The request's pod is the template with what the apiserver fills in, which does not stay in the result.
    """
    document = deepcopy(dict(workload))
    kind = WORKLOADS[document["apiVersion"], document["kind"]]
    empty = [part for part in ("metadata", "spec") if not _at(document, kind.template).get(part)]
    spec = _filled(_at(document, kind.template))
    is_filled = "schedulerName" not in spec
    spec.setdefault("schedulerName", DEFAULT_SCHEDULER)
    group, _, version = document["apiVersion"].rpartition("/")
    request = {
        "uid": "penstock-policy",
        "operation": "CREATE",
        "resource": {"group": group, "version": version, "resource": f"{document['kind'].lower()}s"},
        "namespace": candidate.namespace,
        "userInfo": {"username": candidate.user, "groups": list(candidate.groups)},
        "object": {"metadata": {}, **document},
    }
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    try:
        asked = read_template(orjson.dumps(body))
    except (BadReview, TypeError) as error:
        raise Unusable(str(error).replace("request.object: ", "")) from None
    answer = review(asked, world)
    stored = applied(document, answer.operations)
    template = _at(stored, kind.template)
    if is_filled and template["spec"]["schedulerName"] == DEFAULT_SCHEDULER:
        del template["spec"]["schedulerName"]
    for part in empty:
        if not template[part]:
            del template[part]
    return asked.inner, answer, stored


def _at(document: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        document = document[name]
    return document


def _filled(template: dict[str, Any]) -> dict[str, Any]:
    for part in ("metadata", "spec"):
        template[part] = template.get(part) or {}
    spec: dict[str, Any] = template["spec"]
    return spec

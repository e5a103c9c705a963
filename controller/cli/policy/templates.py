"""The template of a workload as it is stored: the webhook's answer when the workload itself is written."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final

import orjson

from controller.cli.policy.candidates import Candidate
from controller.cli.policy.workloads import WORKLOADS, Unusable
from controller.core.kubernetes.directives import DEFAULT_SCHEDULER
from webhook.patching import applied
from webhook.review import Answer, BadReview, Request
from webhook.template_review import WORKLOADS as TREATED
from webhook.template_review import read_template
from webhook.templates_step import mutate_template
from webhook.world import World

Object = Mapping[str, Any]

_MAKERS: Final = {
    "Deployment": TREATED["apps", "replicasets"].maker,
    "CronJob": TREATED["batch", "jobs"].maker,
}
"""By kind of the owner: who is taken to have made an object, of which only the apiserver knows who did."""


def written(candidate: Candidate, workload: Object, world: World) -> tuple[Request, Answer, Object]:
    """Return the webhook's request about the template, its answer, and the workload as it is stored. Raises Unusable.

    The request's pod is the template with what the apiserver fills in, which does not stay in the result.
    """
    document = deepcopy(dict(workload))
    kind = WORKLOADS[document["apiVersion"], document["kind"]]
    spec = _filled(_at(document, kind.template))
    is_filled = "schedulerName" not in spec
    spec.setdefault("schedulerName", DEFAULT_SCHEDULER)
    owners = (document.get("metadata") or {}).get("ownerReferences") or ()
    makers = [_MAKERS[one.get("kind")] for one in owners if one.get("controller") and one.get("kind") in _MAKERS]
    group, _, version = document["apiVersion"].rpartition("/")
    request = {
        "uid": "penstock-policy",
        "operation": "CREATE",
        "resource": {"group": group, "version": version, "resource": f"{document['kind'].lower()}s"},
        "namespace": candidate.namespace,
        "userInfo": {"username": makers[0] if makers else ""},
        "object": {"metadata": {}, **document},
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    try:
        asked = read_template(orjson.dumps(review))
    except (BadReview, TypeError) as error:
        raise Unusable(str(error).replace("request.object: ", "")) from None
    answer = mutate_template(asked, world)
    stored = applied(document, answer.operations)
    stored_spec = _at(stored, kind.template)["spec"]
    if is_filled and stored_spec["schedulerName"] == DEFAULT_SCHEDULER:
        del stored_spec["schedulerName"]
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

"""On which nodes a pod may run, read from its JSON: for "narrowing only narrows".

Written from the documentation of Kubernetes, sharing nothing with the code that is checked by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = Mapping[str, Any]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def may_run_on(pod: Json, name: str, labels: Mapping[str, str]) -> bool:
    """Say whether nodeSelector and required node affinity of the pod allow a node of this name and labels."""
    spec = pod.get("spec") or {}
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(REQUIRED)
    if required is None:
        return True
    return any(_term_holds(term, name, labels) for term in required.get("nodeSelectorTerms") or [])


def _term_holds(term: Json, name: str, labels: Mapping[str, str]) -> bool:
    checks = [(one, labels) for one in term.get("matchExpressions") or []]
    checks += [(one, {"metadata.name": name}) for one in term.get("matchFields") or []]
    return bool(checks) and all(holds(one, have) for one, have in checks)


def holds(requirement: Json, labels: Mapping[str, str]) -> bool:
    """Say whether one requirement, as JSON, holds for these labels."""
    have, values = labels.get(requirement["key"]), requirement.get("values") or []
    match requirement["operator"]:
        case "In":
            return have in values if have is not None else False
        case "NotIn":
            return have not in values if have is not None else True
        case "Exists":
            return have is not None
        case "DoesNotExist":
            return have is None
        case operator:
            if have is None or not have.lstrip("-").isdigit():
                return False
            return int(have) > int(values[0]) if operator == "Gt" else int(have) < int(values[0])

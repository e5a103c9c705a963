"""What the apiserver allows in an update of a pod's spec: a port of ValidatePodUpdate as far as gates go.

Written from the rules of Kubernetes (KEP-3838, pkg/apis/core/validation), on plain JSON, sharing nothing with the code
that is checked by it. Also: on which nodes a pod may run, for "narrowing only narrows".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Json = Mapping[str, Any]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_NARROWED = ("schedulingGates", "nodeSelector", "affinity", "tolerations", "nodeName")


def faults_of_update(old: Json, new: Json) -> list[str]:
    """Say what the apiserver would refuse in the update of pod `old` to `new`; empty when it is legal."""
    before, after = old.get("spec") or {}, new.get("spec") or {}
    was_gated = bool(before.get("schedulingGates"))
    return [
        *_gates(before, after),
        *_node_selector(before.get("nodeSelector") or {}, after.get("nodeSelector") or {}, was_gated=was_gated),
        *_affinity(before.get("affinity") or {}, after.get("affinity") or {}, was_gated=was_gated),
        *_tolerations(before.get("tolerations") or [], after.get("tolerations") or []),
        *_unchanged("spec", _without(before, _NARROWED), _without(after, _NARROWED)),
        *_unchanged("metadata", _identity(old), _identity(new)),
    ]


def _gates(before: Json, after: Json) -> list[str]:
    old = [gate["name"] for gate in before.get("schedulingGates") or []]
    new = [gate["name"] for gate in after.get("schedulingGates") or []]
    faults = [f"only deletion is allowed, but found new scheduling gate {name}" for name in new if name not in old]
    if after.get("nodeName") and new:
        faults.append("nodeName and schedulingGates are mutually exclusive")
    if after.get("nodeName") != before.get("nodeName"):
        faults.append("nodeName is set by a binding alone")
    return faults


def _node_selector(old: Json, new: Json, *, was_gated: bool) -> list[str]:
    if not was_gated and old != new:
        return ["nodeSelector of a pod without gates"]
    return [f"nodeSelector {key}: only additions" for key, value in old.items() if new.get(key) != value]


def _affinity(old: Json, new: Json, *, was_gated: bool) -> list[str]:
    faults = _unchanged("affinity", _without(old, ("nodeAffinity",)), _without(new, ("nodeAffinity",)))
    before, after = old.get("nodeAffinity") or {}, new.get("nodeAffinity") or {}
    if not was_gated:
        return [*faults, *_unchanged("nodeAffinity of a pod without gates", before, after)]
    terms = (before.get(REQUIRED) or {}).get("nodeSelectorTerms") or []
    if not terms:
        return faults
    now = (after.get(REQUIRED) or {}).get("nodeSelectorTerms") or []
    if len(now) != len(terms):
        return [*faults, "no additions/deletions to non-empty NodeSelectorTerms list"]
    return [*faults, *(fault for was, is_ in zip(terms, now, strict=True) for fault in _term(was, is_))]


def _term(old: Json, new: Json) -> list[str]:
    faults = []
    if not old.get("matchExpressions") and not old.get("matchFields") and _plain(old) != _plain(new):
        faults.append("an empty term may not be given anything")
    for part in ("matchExpressions", "matchFields"):
        was, now = old.get(part) or [], new.get(part) or []
        if now[: len(was)] != was:
            faults.append(f"{part}: only additions at the end")
    return faults


def _tolerations(old: list[Any], new: list[Any]) -> list[str]:
    return [f"toleration {one} was removed" for one in old if one not in new]


def _unchanged(what: str, old: Json, new: Json) -> list[str]:
    return [] if _plain(old) == _plain(new) else [f"{what} may not change"]


def _identity(pod: Json) -> dict[str, Any]:
    return {name: (pod.get("metadata") or {}).get(name) for name in ("name", "namespace", "uid")}


def _without(document: Json, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in names}


def _plain(value: Any) -> str:
    """Nil equals empty, as in Semantic.DeepEqual."""

    def strip(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: kept for key, inner in part.items() if (kept := strip(inner)) not in (None, {}, [])}
        return [strip(inner) for inner in part] if isinstance(part, list) else part

    return json.dumps(strip(value), sort_keys=True)


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

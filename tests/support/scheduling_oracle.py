"""SchedulingPolicies read directly off the proposal, on plain JSON: the merge options, and whether a pod is admitted.

Written from the text, sharing nothing with the code that is checked by it.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from tests.support.pod_update_rules import PREFERRED, REQUIRED

Json = dict[str, Any]
EFFECTS = {"NoSchedule", "PreferNoSchedule", "NoExecute"}
GIVEN_TO_ALL = [
    {"key": f"node.kubernetes.io/{taint}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for taint in ("not-ready", "unreachable")
]

# -- merging -------------------------------------------------------------------------------------------------------


def merged(specs: list[Json], option: str) -> Json:
    """The merged spec of `specs`, which are in the alphabetic order of their names."""
    if option == "FirstPolicy":
        specs = specs[:1]
    result: Json = {}
    for section in ("required", "allowed", "default"):
        result[section] = {}
        for spec in specs:
            for entry, value in spec.get(section, {}).items():
                if entry not in result[section]:
                    result[section][entry] = value
                elif option == "DeepMerge":
                    both = _additive if section == "allowed" else _first_seen
                    result[section][entry] = both(result[section][entry], value)
    return result


def _first_seen(first: Any, second: Any) -> Any:
    if not isinstance(first, dict):
        return first
    both = {key: _first_seen(first[key], second[key]) for key in first.keys() & second.keys()}
    return {**second, **first, **both}


def _additive(first: Any, second: Any) -> Any:
    if not first or not second:
        return type(first)()
    if isinstance(first, list):
        return reduce(lambda seen, one: seen if one in seen else [*seen, one], [*first, *second], [])
    both = {key: _additive(first[key], second[key]) for key in first.keys() & second.keys()}
    return {**second, **first, **both}


# -- judging -------------------------------------------------------------------------------------------------------


def admits(policy: Json, pod: Json) -> bool:
    """Whether a merged policy admits the spec of a pod, which is complete."""
    must, may, gives = (policy.get(section, {}) for section in ("required", "allowed", "default"))
    names = (
        ("schedulerName", pod.get("schedulerName") or "default-scheduler", "default-scheduler"),
        ("priorityClassName", pod.get("priorityClassName", ""), ""),
    )
    if any(not _admits_name(must, may, gives, *name) for name in names):
        return False
    if any(("runtimeClassNames" in must, "runtimeClassNames" in may, "runtimeClassName" in gives)) and (
        not _admits_name(must, may, gives, "runtimeClassName", pod.get("runtimeClassName", ""), "")
    ):
        return False
    if pod.get("nodeName") and not _lists(may, "nodeNames", pod["nodeName"]):
        return False
    return (
        _admits_selector(must, may, gives, pod.get("nodeSelector", {}))
        and all(_admits_toleration(may, gives, one) for one in pod.get("tolerations", []))
        and _has_required_affinity(must.get("affinities", {}), pod.get("affinity", {}))
        and _admits_affinity(must, may, gives.get("affinity", {}), pod.get("affinity", {}))
    )


def _lists(where: Json, name: str, value: str) -> bool:
    """Absent: nothing. Empty: everything."""
    return name in where and (where[name] == [] or value in where[name])


def _admits_name(must: Json, may: Json, gives: Json, field: str, own: str, free: str) -> bool:
    if f"{field}s" in must:
        return own in must[f"{field}s"]
    return own == free or own == gives.get(field) or _lists(may, f"{field}s", own)


def _admits_selector(must: Json, may: Json, gives: Json, selector: Json) -> bool:
    required, allowed = must.get("nodeSelectors", {}), may.get("nodeSelectors")
    if any(selector.get(key) not in values for key, values in required.items()):
        return False
    return all(
        key in required
        or gives.get("nodeSelector", {}).get(key) == value
        or allowed == {}
        or (allowed is not None and _lists(allowed, key, value))
        for key, value in selector.items()
    )


def _admits_toleration(may: Json, gives: Json, toleration: Json) -> bool:
    if toleration in GIVEN_TO_ALL or may.get("tolerations") == []:
        return True
    plain = {"key": "", "operator": "Equal", "value": "", "effect": "", "tolerationSeconds": None, **toleration}
    for one in gives.get("tolerations", []):
        values = one.get("values") or [""]
        same = {name: one.get(name, plain_value) for name, plain_value in _PLAIN.items()}
        if any(plain == {**same, "value": value} for value in values):
            return True
    return any(_has_toleration_form(form, plain) for form in may.get("tolerations", []))


_PLAIN: Json = {"key": "", "operator": "Equal", "effect": "", "tolerationSeconds": None}


def _has_toleration_form(form: Json, toleration: Json) -> bool:
    if toleration["key"] == "" and form.get("keys") != []:
        return False
    if toleration["key"] and not _lists(form, "keys", toleration["key"]):
        return False
    if toleration["effect"] == "" and set(form.get("effects", ["none"])) not in (set(), EFFECTS):
        return False
    if toleration["effect"] and not _lists(form, "effects", toleration["effect"]):
        return False
    if toleration["operator"] == "Exists":
        return "Exists" in form.get("operators", []) or (form.get("operators") == [] == form.get("values"))
    return _lists(form, "operators", "Equal") and _lists(form, "values", toleration["value"])


def _terms(affinity: Json, kind: str, part: str) -> list[Json]:
    """The terms of one part; of node affinity as node selector terms."""
    found = affinity.get(kind, {}).get(part)
    if kind != "nodeAffinity" or not found:
        return found or []
    terms: list[Json] = found["nodeSelectorTerms"] if part == REQUIRED else [one["preference"] for one in found]
    return terms


_KINDS = {"nodeAffinities": "nodeAffinity", "podAffinities": "podAffinity", "podAntiAffinities": "podAntiAffinity"}


def _has_required_affinity(must: Json, affinity: Json) -> bool:
    for kinds, parts in must.items():
        kind = _KINDS[kinds]
        if parts == {} and not (_terms(affinity, kind, REQUIRED) or _terms(affinity, kind, PREFERRED)):
            return False
        for part, forms in parts.items():
            terms, wanted = _terms(affinity, kind, part), forms.get("nodeSelectorTerms")
            if wanted is None:
                if not terms:
                    return False
            elif part == REQUIRED:
                # a term that matches no node cannot break anything
                if not terms or not all(_is_held(wanted, term) for term in terms):
                    return False
            elif not any(_is_held(wanted, term, by_empty=False) for term in terms):
                return False
    return True


def _is_held(wanted: list[Json], term: Json, *, by_empty: bool = True) -> bool:
    said = {part: term.get(part) or [] for part in ("matchExpressions", "matchFields")}
    if not any(said.values()):
        return by_empty
    return any(
        all(any(_has_form(form, one) for one in said[part]) for part in said for form in alternative.get(part, []))
        for alternative in wanted
    )


def _has_form(form: Json, requirement: Json) -> bool:
    return (
        _lists(form, "keys", requirement["key"])
        and _lists(form, "operators", requirement["operator"])
        and all(_lists(form, "values", value) for value in requirement.get("values") or [])
    )


def _admits_affinity(must: Json, may: Json, gives: Json, affinity: Json) -> bool:
    for kinds, kind in _KINDS.items():
        for part in (REQUIRED, PREFERRED):
            terms, given = _terms(affinity, kind, part), _terms(gives, kind, part)
            said = [found for found in (_said(must, kinds, part), _said(may, kinds, part)) if found is not None]
            if any(not one.get("nodeSelectorTerms") for one in said):
                continue
            forms = [term for one in said for term in one["nodeSelectorTerms"]]
            if kind != "nodeAffinity" and any(term not in given for term in terms):
                return False
            if kind == "nodeAffinity" and not all(_is_made_of(forms, given, term) for term in terms):
                return False
    return True


def _said(section: Json, kinds: str, part: str) -> Json | None:
    """What is said of a part; {} is everything of it."""
    here: Json | None = section.get("affinities")
    for step in (kinds, part):
        if not here:
            return here
        here = here.get(step)
    return here


def _is_made_of(forms: list[Json], given: list[Json], term: Json) -> bool:
    for place in ("matchExpressions", "matchFields"):
        for one in term.get(place) or []:
            listed = [form.get(place) for form in forms]
            by_form = any(found == [] or any(_has_form(form, one) for form in found or []) for found in listed)
            by_default = any(_same(one, other) for other_term in given for other in other_term.get(place) or [])
            if not by_form and not by_default:
                return False
    return True


def _same(one: Json, other: Json) -> bool:
    values = [set(requirement.get("values") or []) for requirement in (one, other)]
    return (one["key"], one["operator"]) == (other["key"], other["operator"]) and values[0] == values[1]

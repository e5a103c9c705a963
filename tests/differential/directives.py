"""Scheduling directives at random, as JSON: `legal` ones as a stored pod can have them, others with faults.

They draw from a `random.Random`: Hypothesis gives one that it can shrink, a seeded one is fast.
"""

from __future__ import annotations

from random import Random
from typing import Any

from controller.core.kubernetes.directives import PREFERRED, REQUIRED
from tests.differential import words
from tests.differential.words import chance, some

Json = dict[str, Any]


def node_requirement(random: Random, *, legal: bool) -> Json:
    operator = random.choice(words.OPERATORS[:6] if legal else words.OPERATORS)
    key = random.choice(words.LEGAL_KEYS if legal else words.KEYS)
    count = {"In": 1 + random.randrange(2), "NotIn": 1 + random.randrange(2), "Gt": 1, "Lt": 1}.get(operator, 0)
    if not legal and chance(random, 10):
        count = random.randrange(3)
    values = [random.choice(words.LEGAL_VALUES if legal else words.VALUES) for _ in range(count)]
    return _with(random, {"key": key, "operator": operator}, values=values)


def field_requirement(random: Random, *, legal: bool) -> Json:
    operator = random.choice(("In", "NotIn")) if legal or chance(random, 80) else random.choice(words.OPERATORS)
    names = [random.choice(words.NODE_NAMES[:3] if legal else words.NODE_NAMES)]
    if not legal and chance(random, 10):
        names = names * random.choice((0, 2))
    key = "metadata.name" if legal or chance(random, 90) else random.choice(("metadata.namespace", ""))
    return _with(random, {"key": key, "operator": operator}, values=names)


def node_term(random: Random, *, legal: bool) -> Json:
    return _with(
        random,
        {},
        matchExpressions=[node_requirement(random, legal=legal) for _ in some(random, 3)],
        matchFields=[field_requirement(random, legal=legal) for _ in some(random, 2)] if chance(random, 30) else [],
    )


def node_affinity(random: Random, *, legal: bool) -> Json:
    found: Json = {}
    if chance(random, 80):
        terms = [node_term(random, legal=legal) for _ in some(random, 3, 1 if legal else 0)]
        found[REQUIRED] = {"nodeSelectorTerms": terms}
        if legal and chance(random, 10):
            # an old pod may have values that no rule of today would take
            _make_odd(random, terms)
    preferred = [
        {
            "weight": random.choice(words.WEIGHTS[:3] if legal else words.WEIGHTS),
            "preference": node_term(random, legal=legal),
        }
        for _ in some(random, 2)
    ]
    return _with(random, found, **{PREFERRED: preferred})


def _make_odd(random: Random, terms: list[Json]) -> None:
    for term in terms:
        for requirement in term.get("matchExpressions") or ():
            if requirement.get("values"):
                requirement["values"][0] = random.choice(words.ODD_VALUES)


def label_selector(random: Random, *, legal: bool) -> Json:
    expressions = []
    for _ in some(random, 2):
        operator = random.choice(words.SELECTOR_OPERATORS[:4] if legal else words.SELECTOR_OPERATORS)
        wanted = operator in ("In", "NotIn") if legal or chance(random, 80) else chance(random, 50)
        values = [random.choice(words.LEGAL_VALUES if legal else words.VALUES)] if wanted else []
        key = random.choice(words.LEGAL_KEYS if legal else words.KEYS)
        expressions.append(_with(random, {"key": key, "operator": operator}, values=values))
    keys = words.LEGAL_KEYS if legal else words.KEYS
    labels = {
        random.choice(keys): random.choice(words.LEGAL_VALUES if legal else words.VALUES) for _ in some(random, 2)
    }
    return _with(random, {}, matchLabels=labels, matchExpressions=expressions)


def pod_term(random: Random, *, legal: bool) -> Json:
    term: Json = {"topologyKey": random.choice(words.LEGAL_KEYS if legal else words.KEYS)}
    if chance(random, 70):
        term["labelSelector"] = label_selector(random, legal=legal)
    if chance(random, 20):
        term["namespaceSelector"] = label_selector(random, legal=legal)
    if chance(random, 30):
        term["namespaces"] = [random.choice(words.NAMESPACES[:3] if legal else words.NAMESPACES)]
    if chance(random, 30) and (not legal or "labelSelector" in term):
        # what a selector names already would be one key too many
        keys = ("c", "d") if legal else words.KEYS
        matched = [random.choice(keys[:1] if legal else keys) for _ in some(random, 2)]
        mismatched = [random.choice(keys[1:] if legal else keys) for _ in some(random, 2)]
        term = _with(random, term, matchLabelKeys=matched, mismatchLabelKeys=mismatched)
    return term


def pod_affinity(random: Random, *, legal: bool) -> Json:
    weights = words.WEIGHTS[:3] if legal else words.WEIGHTS
    preferred = [
        {"weight": random.choice(weights), "podAffinityTerm": pod_term(random, legal=legal)} for _ in some(random, 2)
    ]
    required = [pod_term(random, legal=legal) for _ in some(random, 2)]
    return _with(random, {}, **{REQUIRED: required, PREFERRED: preferred})


def affinity(random: Random, *, legal: bool) -> Json:
    found: Json = {}
    if chance(random, 85):
        found["nodeAffinity"] = node_affinity(random, legal=legal)
    for name in ("podAffinity", "podAntiAffinity"):
        if chance(random, 15):
            found[name] = pod_affinity(random, legal=legal)
    return found


def toleration(random: Random, *, legal: bool) -> Json:
    if not legal:
        found = {
            "key": random.choice(words.KEYS),
            "operator": random.choice(words.TOLERATION_OPERATORS),
            "value": random.choice(words.VALUES + words.COMPARED),
            "effect": random.choice(words.EFFECTS),
            "tolerationSeconds": random.choice(words.SECONDS),
        }
        return {name: value for name, value in found.items() if chance(random, 80)}
    seconds = random.choice(words.SECONDS)
    effect = "NoExecute" if seconds is not None else random.choice(words.EFFECTS[:5])
    kind = random.choice(("Exists", "Exists", "Equal", "Lt", "Gt"))
    key = random.choice(words.LEGAL_KEYS)
    value = {"Equal": random.choice(words.LEGAL_VALUES), "Lt": "7", "Gt": "-7"}.get(kind, "")
    found = {"key": key, "operator": kind, "value": value, "effect": effect, "tolerationSeconds": seconds}
    return {name: one for name, one in found.items() if one not in ("", None)}


def spread_constraint(random: Random, *, legal: bool, number: int) -> Json:
    found: Json = {
        "maxSkew": 1 if legal else random.choice(words.WORDS["maxSkew"]),
        "topologyKey": words.LEGAL_KEYS[number] if legal else random.choice(words.KEYS),
        "whenUnsatisfiable": random.choice(words.WORDS["whenUnsatisfiable"][: 2 if legal else 4]),
    }
    if chance(random, 70):
        found["labelSelector"] = label_selector(random, legal=legal or chance(random, 70))
    if chance(random, 20) and (not legal or found["whenUnsatisfiable"] == "DoNotSchedule"):
        found["minDomains"] = 1 if legal else random.choice(words.WORDS["minDomains"])
    for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if chance(random, 20):
            found[name] = random.choice(words.WORDS[name][: 2 if legal else 4])
    if chance(random, 30) and (not legal or "labelSelector" in found):
        found["matchLabelKeys"] = ["c"] if legal else [random.choice(words.KEYS) for _ in some(random, 2)]
    return found


def _with(random: Random, document: Json, **lists: Any) -> Json:
    """Add what is not empty, and what is empty in one of the ways in which nothing can be written."""
    for name, value in lists.items():
        if value:
            document[name] = value
        elif chance(random, 30):
            document[name] = random.choice((None, type(value)()))
    return document

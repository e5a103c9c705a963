"""Pairs of pods at random: one that the apiserver has, and one that somebody wants it to be."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final

import orjson

from controller.core.kubernetes.directives import REQUIRED
from tests.differential import directives, foreign, words
from tests.differential.words import chance, some

Json = dict[str, Any]
Pair = tuple[Json, Json]

_EACH: Final = 5
_DIRECTIVES: Final = ("nodeSelector", "affinity", "tolerations", "topologySpreadConstraints", "schedulingGates")


def pairs(random: Random, count: int) -> Iterator[Pair]:
    """So many updates, several of each pod."""
    while count > 0:
        old = stored_pod(random)
        for _ in range(min(count, _EACH)):
            yield old, changed(random, old)
        count -= _EACH


def changed(random: Random, old: Json) -> Json:
    """The pod after some changes, many of which are not legal."""
    new: Json = orjson.loads(orjson.dumps(old))
    for _ in range(random.choice((0, 1, 1, 1, 1, 2, 2, 3))):
        random.choice(_CHANGES)(random, new)
    return new


def change_directives(random: Random, pod: Json) -> None:
    """Change one of its scheduling directives."""
    random.choice(_OF_DIRECTIVES)(random, pod)


def stored_pod(random: Random) -> Json:
    """A pod with all defaults, as the apiserver writes it."""
    pod = foreign.plain_pod(random)
    spec = pod["spec"]
    if chance(random, 70):
        spec["schedulingGates"] = [{"name": name} for name in sorted({random.choice(words.GATES[:9]) for _ in "xx"})]
    elif chance(random, 30):
        spec["nodeName"] = "node-1"
        if chance(random, 20):
            foreign.mirror(pod)
    for name in ("nodeSelector", "affinity", "tolerations"):
        if chance(random, 70):
            spec[name] = _written(random, name, legal=True)
    if chance(random, 15):
        spec["topologySpreadConstraints"] = _written(random, "topologySpreadConstraints", legal=True)
    return pod


def _written(random: Random, name: str, *, legal: bool) -> Any:
    """A directive from nothing, now and then in one of the ways in which nothing can be written."""
    if chance(random, 5):
        return None
    match name:
        case "nodeSelector":
            keys, values = (words.LEGAL_KEYS, words.LEGAL_VALUES) if legal else (words.KEYS, words.VALUES)
            return {random.choice(keys): random.choice(values) for _ in some(random, 3)}
        case "affinity":
            return directives.affinity(random, legal=legal)
        case "tolerations":
            return [directives.toleration(random, legal=legal) for _ in some(random, 3)]
        case "topologySpreadConstraints":
            return [directives.spread_constraint(random, legal=legal, number=number) for number in some(random, 3)]
        case _:
            return [{"name": random.choice(words.GATES)} for _ in some(random, 3)]


def _write_anew(random: Random, new: Json) -> None:
    name = random.choice(_DIRECTIVES)
    new["spec"][name] = _written(random, name, legal=chance(random, 50))


def _remove(random: Random, new: Json) -> None:
    new["spec"].pop(random.choice(_DIRECTIVES), None)


def _ungate(random: Random, new: Json) -> None:
    new["spec"].pop("schedulingGates", None)


def _grow_selector(random: Random, new: Json) -> None:
    selector = dict(new["spec"].get("nodeSelector") or {})
    legal = chance(random, 80)
    selector[random.choice(words.LEGAL_KEYS if legal else words.KEYS)] = random.choice(words.LEGAL_VALUES)
    new["spec"]["nodeSelector"] = selector


def _grow_terms(random: Random, new: Json) -> None:
    """What a release does: a requirement at the end of each term, or of most."""
    node = ((new["spec"].get("affinity") or {}).get("nodeAffinity") or {}).get(REQUIRED) or {}
    requirement = directives.node_requirement(random, legal=chance(random, 90))
    for term in node.get("nodeSelectorTerms") or ():
        if chance(random, 90):
            part = "matchExpressions" if chance(random, 90) else "matchFields"
            held = list(term.get(part) or ())
            held.insert(len(held) if chance(random, 85) else 0, copy.deepcopy(requirement))
            term[part] = held


def _add_toleration(random: Random, new: Json) -> None:
    held = list(new["spec"].get("tolerations") or ())
    held.insert(random.randint(0, len(held)), directives.toleration(random, legal=chance(random, 80)))
    new["spec"]["tolerations"] = held


def _edit(random: Random, new: Json) -> None:
    """Change something in the depth of a directive: a leaf, the order or the length of a list, a field less."""
    holder: Any = new["spec"]
    key: Any = random.choice(_DIRECTIVES)
    while True:
        value = holder.get(key) if isinstance(holder, dict) else holder[key]
        if not isinstance(value, dict | list) or not value or chance(random, 15):
            break
        holder = value
        key = random.choice(sorted(value)) if isinstance(value, dict) else random.randrange(len(value))
    _edit_at(random, holder, key)


def _edit_at(random: Random, holder: Any, key: Any) -> None:
    if isinstance(holder, list):
        match random.randrange(4):
            case 0:
                del holder[key]
            case 1:
                holder.insert(random.randint(0, len(holder)), copy.deepcopy(holder[key]))
            case 2:
                random.shuffle(holder)
            case _ if isinstance(holder[key], str):
                holder[key] = random.choice(words.VALUES)
            case _:
                holder.append(copy.deepcopy(holder[key]))
    elif chance(random, 30):
        holder.pop(key, None)
    elif isinstance(holder.get(key), str):
        holder[key] = random.choice(words.WORDS.get(key, words.VALUES))
    elif isinstance(holder.get(key), int):
        holder[key] = random.choice(words.WORDS.get(key, (0, 1, 2)))
    elif chance(random, 30) and holder.get(key):
        holder[key] = random.choice((None, type(holder[key])()))


Change = Callable[[Random, Json], None]

_OF_DIRECTIVES: tuple[Change, ...] = (
    *(_write_anew, _write_anew, _remove, _ungate, _ungate, _grow_selector, _grow_terms, _grow_terms),
    *(_add_toleration, _edit, _edit, _edit, _edit),
)
_CHANGES: tuple[Change, ...] = (
    *_OF_DIRECTIVES,
    *(foreign.change_metadata, foreign.change_metadata, foreign.change_annotations),
    *(foreign.change_spec, foreign.change_containers, foreign.change_limits),
)

"""What the page may look at: each part is a question to the cluster, and what of the answer is sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

import msgspec
from multidict import MultiDict, MultiMapping

from controller.core.kubernetes.names import DNS_LABEL_FORM, DNS_SUBDOMAIN_FORM, is_dns_label, is_dns_subdomain
from controller.dashboard.feeds import Question
from controller.dashboard.pod_table import Wanted, WrongTable, window
from controller.dashboard.timeline import timeline
from controller.extension_api.paths import ROOT
from controller.extension_api.queueing.pod_runs import PLURAL
from controller.extension_api.reading import Listed, Member, within
from controller.visibility.rows import PodRow

Shown = Callable[[Any], Any]
"""Makes of an answer what is sent; it may remember what it sent before."""


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that is looked at, by the name under which it is sent."""

    name: str
    question: Question
    shown: Shown


class Changes:
    """Of a window of pods what is new to whoever has the one before: the order, and the rows that differ."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._sent: dict[str, PodRow] = {}

    def __call__(self, answer: list[PodRow]) -> Any:
        """Return a window with those rows alone that were not sent before, or looked different."""
        found = window(answer, self._wanted)
        changed = {key: row for key, row in found.rows.items() if self._sent.get(key) != row}
        self._sent = found.rows
        return msgspec.structs.replace(found, rows=changed)


_Query = MultiMapping[str]
_LISTS: Final[Mapping[str, str]] = {
    "clusterQueues": "clusterqueues",
    "flavors": "flavorcapacities",
    "nodes": "flavornodes",
}
"""Resources of the cluster, whose rows are sent as they are."""
_LISTS_IN_NAMESPACES: Final[Mapping[str, str]] = {"localQueues": "localqueues"}
_SLOW: Final = 5.0
"""Seconds between questions that a copy of the controller's process, or a database, answers."""
_MOST_RUNS: Final = 100
_LONG_AGO: Final = "400d"


def part(asked: str) -> Part:
    """Return what is looked at by a name and parameters, as `pods?namespace=team-a&sort=place`. Raises WrongTable."""
    name, _, parameters = asked.partition("?")
    query = MultiDict(parse_qsl(parameters))
    if name in _LISTS:
        return Part(name, _listed(_LISTS[name], None), _as_it_is)
    if name in _LISTS_IN_NAMESPACES:
        return Part(name, _listed(_LISTS_IN_NAMESPACES[name], namespace_of(query)), _as_it_is)
    if name not in _OTHERS:
        known = ", ".join(sorted((*_LISTS, *_LISTS_IN_NAMESPACES, *_OTHERS)))
        raise WrongTable(f"part={name}: there is no such part; there are {known}")
    return _OTHERS[name](name, query)


def _pods(name: str, query: _Query) -> Part:
    wanted = Wanted.read(query, query.getall("filter", []))
    return Part(name, Question(name, ROOT + within(namespace_of(query), "queuepods"), _pod_rows), Changes(wanted))


def _reasons(name: str, query: _Query) -> Part:
    path = within(None, "clusterqueues", _needed(query, "clusterQueue"), "reasons")
    return Part(name, Question(name, ROOT + path, _statuses, _SLOW), _as_it_is)


def _accuracy(name: str, query: _Query) -> Part:
    del query
    return Part(name, Question(name, ROOT + within(None, "forecastaccuracies"), _by_name), _as_it_is)


def _runs(name: str, query: _Query) -> Part:
    """What became of pods, those that were created last; of one pod all that had its name."""
    parameters = {"limit": str(_MOST_RUNS)}
    if query.get("pod"):
        parameters |= {"target": f"pod/{_needed(query, 'pod')}", "from": _LONG_AGO}
    path = f"{within(namespace_of(query), PLURAL)}?{urlencode(parameters)}"
    return Part(name, Question(name, ROOT + path, _statuses, _SLOW), _as_it_is)


def _pod(name: str, query: _Query) -> Part:
    space, pod = _needed(query, "namespace"), _needed(query, "pod")
    return Part(name, Question(name, f"/api/v1/namespaces/{space}/pods/{pod}", timeline), _as_it_is)


def _explanation(name: str, query: _Query) -> Part:
    return Part(name, Question(name, ROOT + _explained(query), _status), _as_it_is)


def _remedies(name: str, query: _Query) -> Part:
    return Part(name, Question(name, f"{ROOT}{_explained(query)}/remedies", _statuses, _SLOW), _as_it_is)


def _explained(query: _Query) -> str:
    return within(_needed(query, "namespace"), "explanations", f"pod.{_needed(query, 'pod')}")


_OTHERS: Final[Mapping[str, Callable[[str, _Query], Part]]] = {
    "pods": _pods,
    "accuracy": _accuracy,
    "reasons": _reasons,
    "runs": _runs,
    "pod": _pod,
    "explanation": _explanation,
    "remedies": _remedies,
}


def _listed(plural: str, namespace: str | None) -> Question:
    return Question(plural, ROOT + within(namespace, plural), _statuses)


def namespace_of(query: MultiMapping[str]) -> str | None:
    """Return the namespace that is asked about; None: all. Raises WrongTable."""
    value = query.get("namespace", "")
    if value and not is_dns_label(value):
        raise WrongTable(f"namespace={value}: must be {DNS_LABEL_FORM}")
    return value or None


def _needed(query: _Query, parameter: str) -> str:
    """Return a name that stands in a path, where `..` would lead elsewhere."""
    value = query.get(parameter, "")
    if not is_dns_subdomain(value):
        raise WrongTable(f"{parameter}={value}: this part is of one object, whose name must be {DNS_SUBDOMAIN_FORM}")
    return value


def _as_it_is(answer: Any) -> Any:
    return answer


class _Metadata(msgspec.Struct):
    name: str


class _Named(msgspec.Struct):
    metadata: _Metadata
    status: msgspec.Raw


class _NamedList(msgspec.Struct):
    items: list[_Named]


_statuses_decoder = msgspec.json.Decoder(Listed[msgspec.Raw])
_status_decoder = msgspec.json.Decoder(Member[msgspec.Raw])
_named_decoder = msgspec.json.Decoder(_NamedList)
_pods_decoder = msgspec.json.Decoder(Listed[PodRow])


def _statuses(body: bytes) -> list[msgspec.Raw]:
    return [one.status for one in _statuses_decoder.decode(body).items]


def _by_name(body: bytes) -> dict[str, msgspec.Raw]:
    """Read rows that do not say whose they are."""
    return {one.metadata.name: one.status for one in _named_decoder.decode(body).items}


def _status(body: bytes) -> msgspec.Raw:
    return _status_decoder.decode(body).status


def _pod_rows(body: bytes) -> list[PodRow]:
    return [one.status for one in _pods_decoder.decode(body).items]

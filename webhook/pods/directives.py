"""What a pod's spec says about where to run, read from its JSON, and written back as a JSON Patch.

Only what differs is written, and lists grow at their end, so that fields which we do not know stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from controller.core.kubernetes.directives import (
    DEFAULT_SCHEDULER,
    POD_TERM_LISTS,
    PREFERRED,
    REQUIRED,
    Directives,
    PodTermList,
    Preferred,
)
from controller.core.kubernetes.documents import term_document, toleration_document
from controller.core.kubernetes.pointers import escape
from controller.kube import wire
from controller.kube.decode_placement import read_term, read_toleration
from webhook.pods import limits
from webhook.reviews.patching import Operations, changed

_FIELDS = ("nodeSelector", "nodeName", "schedulerName", "tolerations", "affinity")
_NODE_AFFINITY = ("affinity", "nodeAffinity")


class _Spec(msgspec.Struct, rename="camel"):
    node_selector: dict[str, str] | None = None
    node_name: str | None = None
    scheduler_name: str | None = None
    tolerations: list[wire.PodToleration] | None = None
    affinity: dict[str, Any] | None = None


class _PodTerms(msgspec.Struct):
    """In a Struct of its own, because msgspec takes other types apart at every call."""

    lists: dict[str, list[dict[str, Any]] | None]


def read(spec: Mapping[str, Any]) -> Directives | None:
    """Read a pod's spec; None when it is not of the form that a pod has, which the apiserver will refuse.

    Raises TooMuch.
    """
    try:
        form = msgspec.convert(spec, _Spec)
        affinity = form.affinity or {}
        node = msgspec.convert(affinity.get("nodeAffinity") or {}, wire.NodeAffinity)
        scheduler = form.scheduler_name or ""
        found = Directives(
            node_selector=tuple(sorted((form.node_selector or {}).items())),
            node_name=form.node_name or "",
            scheduler_name="" if scheduler == DEFAULT_SCHEDULER else scheduler,
            tolerations=tuple(read_toleration(one) for one in form.tolerations or ()),
            required=None if node.required is None else tuple(map(read_term, node.required.node_selector_terms or ())),
            preferred=tuple(Preferred(one.weight, read_term(one.preference)) for one in node.preferred or ()),
            pod_terms=_pod_terms(affinity),
        )
    except (msgspec.ValidationError, ValueError):
        return None
    limits.check(found)
    return found


def _pod_terms(affinity: Mapping[str, Any]) -> dict[PodTermList, tuple[Mapping[str, Any], ...]]:
    lists: dict[PodTermList, tuple[Mapping[str, Any], ...]] = {}
    if not affinity:
        return lists
    for which, part in POD_TERM_LISTS:
        terms = msgspec.convert({"lists": affinity.get(which) or {}}, _PodTerms).lists.get(part)
        if terms:
            lists[which, part] = tuple(terms)
    return lists


def patch(spec: Mapping[str, Any], before: Directives, after: Directives) -> Operations:
    """Return the operations that make `before`, read from `spec`, into `after`. Paths begin at the pod."""
    if after is before:
        return ()
    patch = _Patch(spec)
    own = dict(before.node_selector)
    for key, value in after.node_selector:
        if key not in own:
            patch.put(("nodeSelector", key), value)
    if after.node_name != before.node_name:
        patch.put(("nodeName",), after.node_name)
    if after.scheduler_name != before.scheduler_name and after.scheduler_name != DEFAULT_SCHEDULER:
        patch.put(("schedulerName",), after.scheduler_name)
    patch.extend(("tolerations",), [toleration_document(one) for one in _new(before.tolerations, after.tolerations)])
    if after.required is not None and after.required != before.required:
        patch.put((*_NODE_AFFINITY, REQUIRED), {"nodeSelectorTerms": [term_document(term) for term in after.required]})
    preferred = [
        {"weight": one.weight, "preference": term_document(one.term)} for one in _new(before.preferred, after.preferred)
    ]
    patch.extend((*_NODE_AFFINITY, PREFERRED), preferred)
    for place in () if after.pod_terms == before.pod_terms else POD_TERM_LISTS:
        terms = _new(before.pod_terms.get(place, ()), after.pod_terms.get(place, ()))
        # plain text: an enum is no key for the encoder
        patch.extend(("affinity", place[0].value, place[1]), [dict(term) for term in terms])
    return patch.operations


def _new(before: Sequence[Any], after: Sequence[Any]) -> Sequence[Any]:
    """What was added: merging adds to the end alone."""
    return after[len(before) :]


class _Patch:
    """Operations on a pod's spec, each made for the spec as the ones before left it."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self.operations: Operations = ()
        # without the containers, which are the greater part of a pod
        self._spec: dict[str, Any] = {name: spec[name] for name in _FIELDS if name in spec}

    def put(self, path: tuple[str, ...], value: Any) -> None:
        """Set the member at `path`, with the objects on the way to it where they are missing."""
        parent: Any = self._spec
        for depth, token in enumerate(path[:-1]):
            # null is no object either
            if not parent.get(token):
                for name in reversed(path[depth + 1 :]):
                    value = {name: value}
                self._do(path[: depth + 1], value)
                return
            parent = parent[token]
        self._do(path, value)

    def extend(self, path: tuple[str, ...], values: Sequence[Any]) -> None:
        """Add to the end of the list at `path`, which need not be there: once a list."""
        if not values:
            return
        found: Any = self._spec
        for token in path:
            found = (found or {}).get(token)
        if not found:
            self.put(path, list(values))
            return
        end = "/".join(("/spec", *path, "-"))
        self.operations += tuple({"op": "add", "path": end, "value": value} for value in values)

    def _do(self, path: tuple[str, ...], value: Any) -> None:
        operation = {"op": "add", "path": "/".join(("/spec", *map(escape, path))), "value": value}
        self.operations = (*self.operations, operation)
        self._spec = changed(self._spec, path, operation)

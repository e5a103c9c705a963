"""Surroundings from manifests: files and folders, as they would be applied to a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson
from msgspec import Raw

from controller.cli.policy.faults import NoAnswer
from controller.cli.policy.kinds import KINDS, OTHERS_OF_OURS, OURS, Kind
from controller.cli.policy.surroundings import Settings, Surroundings
from controller.core.keys import GROUP
from controller.kube.errors import KubeError
from controller.kube.manifests import Document, ManifestError, read_documents
from controller.objects.pod_policies import ReadPolicy
from controller.objects.scheduling_policies import ReadSchedulingPolicy

_KINDS = {(kind.api_version, kind.name): kind for kind in KINDS}


def documents_of(paths: Iterable[Path]) -> list[Document]:
    """Read all objects of these files and folders. Raises NoAnswer."""
    try:
        return [document for path in paths for document in read_documents(path)]
    except ManifestError as error:
        raise NoAnswer(str(error)) from None


def surroundings_of(documents: Iterable[Document], settings: Settings) -> Surroundings:
    """Build what these objects make up; what the webhook does not read is left out. Raises NoAnswer with all faults."""
    surroundings = Surroundings(settings)
    by_kind: dict[Kind, list[tuple[int, Document]]] = {kind: [] for kind in KINDS}
    faults: list[tuple[int, str]] = []
    for number, document in enumerate(documents):
        kind = _KINDS.get((document["apiVersion"], document["kind"]))
        if kind is None:
            faults += [(number, fault) for fault in _faults_of_stranger(document)]
        else:
            by_kind[kind].append((number, document))
    for kind, numbered in by_kind.items():
        if kind.is_wanted(surroundings):
            items, wrong = _items(numbered, kind)
            kind.sink(surroundings)(items)
            faults += wrong
    if faults:
        raise NoAnswer("\n".join(fault for _, fault in sorted(faults, key=lambda one: one[0])))
    return surroundings


def _items(numbered: Iterable[tuple[int, Document]], kind: Kind) -> tuple[list[Any], list[tuple[int, str]]]:
    """All objects of a kind, and what is wrong with some, by the number of the document."""
    found: dict[tuple[str, str], tuple[Document, Any]] = {}
    faults: list[tuple[int, str]] = []
    for number, document in numbered:
        wrong = [*_faults_of_name(document, kind)]
        item, unread = (None, ()) if wrong else _decoded(document, kind)
        faults += [(number, f"{document.where}: {kind.name}: {fault}") for fault in (*wrong, *unread)]
        if item is None:
            continue
        key = (document["metadata"].get("namespace", ""), document["metadata"]["name"])
        if key in found:
            twice = f"{kind.name} {'/'.join(filter(None, key))!r} is there twice: also {found[key][0].where}"
            faults.append((number, f"{document.where}: {twice}"))
        found[key] = document, item
    return [item for _, item in found.values()], faults


def holds_known(documents: Iterable[Document]) -> bool:
    """Whether one of these objects is of a kind that matters at all."""
    return any((document["apiVersion"], document["kind"]) in _KINDS for document in documents)


def known_kinds() -> str:
    """The kinds that matter, for people."""
    return ", ".join(kind.name for kind in KINDS)


def _faults_of_stranger(document: Document) -> Iterator[str]:
    version, name = document["apiVersion"], document["kind"]
    if version == OURS and name not in OTHERS_OF_OURS:
        kinds = sorted({kind.name for kind in KINDS if kind.api_version == OURS} | OTHERS_OF_OURS)
        yield f"{document.where}: kind: {name!r}: must be one of {', '.join(kinds)}"
    elif version != OURS and version.partition("/")[0] == GROUP:
        yield f"{document.where}: apiVersion: {version!r}: must be {OURS}"


def _faults_of_name(document: Document, kind: Kind) -> Iterator[str]:
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
        yield "metadata.name: is required and must be text"
        return
    namespace = metadata.get("namespace")
    if kind.namespaced and not (isinstance(namespace, str) and namespace):
        yield f"metadata.namespace: is required: {metadata['name']!r} is in no namespace, and files have no current one"
    elif not kind.namespaced and namespace:
        yield f"metadata.namespace: {namespace!r}: must go, because the kind is in no namespace"


def _decoded(document: Document, kind: Kind) -> tuple[Any, tuple[str, ...]]:
    faults = tuple(kind.check(document))
    if faults:
        return None, faults
    try:
        item = kind.decode(Raw(orjson.dumps(document)))
    except (KubeError, TypeError) as error:
        return None, (str(error),)
    if isinstance(item, (ReadPolicy, ReadSchedulingPolicy)) and item.policy is None:
        return None, tuple((item.fault or "").splitlines())
    return item, ()

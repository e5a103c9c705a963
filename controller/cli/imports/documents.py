"""What `penstock import` shares between projects: reading objects of theirs, and what of them stays in ours."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, TextIO

import click

from controller.kube.manifests import ManifestError, parse, read_stream

_KEPT_METADATA = ("name", "namespace", "labels", "annotations")
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class ConversionError(Exception):
    """An object cannot be converted; the text says which, where in it, and why, one line a fault."""


def not_one_of(legal: Collection[str], where: str, value: object) -> ConversionError:
    """Return that at `where` stands nothing, or what is not legal there."""
    listed = f"one of {', '.join(legal)}" if len(legal) > 2 else " or ".join(legal)
    return ConversionError(f"{where}: " + ("is required: " if value is None else f"{value!r}: must be ") + listed)


def objects(file: TextIO) -> Iterator[tuple[str, object]]:
    """Each object with where it stands; those of a List one by one, as `kubectl get -o yaml` writes them.

    A List may be empty, as it is of a kind of which there are none; a file that holds nothing at all is a fault.
    """
    try:
        bodies = parse(read_stream(file), file.name)
    except ManifestError as error:
        raise click.ClickException(str(error)) from None
    if all(body is None for body in bodies):
        raise click.ClickException(f"{file.name}: holds no object")
    for number, body in enumerate(bodies, start=1):
        where = f"{file.name}: document {number}"
        if isinstance(body, dict) and body.get("kind") == "List" and isinstance(body.get("items"), list):
            yield from ((f"{where}: items[{index}]", item) for index, item in enumerate(body["items"]))
        elif body is not None:
            yield where, body


def is_foreign(body: object, group: str) -> bool:
    """Whether an object is of another API group, such as a Namespace among queues; what has no form is not."""
    version = body.get("apiVersion") if isinstance(body, dict) else None
    return isinstance(version, str) and version != "" and version.partition("/")[0] != group


def tell_foreign(where: str, body: object) -> None:
    """Say on stderr that an object is left out."""
    kind = body.get("kind") if isinstance(body, dict) else None
    click.echo(f"Warning: {where}: {kind or 'an object without a kind'} is left out: nothing to convert", err=True)


def kept_metadata(written: object) -> object:
    """What a person wrote of it; the rest is the apiserver's and of the old object."""
    if not isinstance(written, dict):
        return written
    kept = {name: written[name] for name in _KEPT_METADATA if written.get(name)}
    if isinstance(kept.get("annotations"), dict):
        annotations = {key: value for key, value in kept["annotations"].items() if key != _APPLIED}
        kept = {name: value for name, value in kept.items() if name != "annotations"}
        return {**kept, "annotations": annotations} if annotations else kept
    return kept


def without_nulls(value: object) -> Any:
    """The value without what is null, which says no more than absence; what is empty stays."""
    if isinstance(value, dict):
        return {name: without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [without_nulls(one) for one in value] if isinstance(value, list) else value


def toleration(written: object) -> object:
    """A toleration in which an empty operator, which is the default, is left out."""
    if isinstance(written, dict) and written.get("operator") == "":
        return {name: value for name, value in written.items() if name != "operator"}
    return written

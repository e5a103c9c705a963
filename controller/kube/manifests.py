"""Manifests as people keep them: YAML files with one or more objects. Reads files; makes no request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import yaml

from controller.kube.errors import KubeError, one_line

SUFFIXES = (".yaml", ".yml", ".json")
_KUSTOMIZE = "kustomize.config.k8s.io/"
_POLICY_TEST = "policy-test.yaml"
_DEEPEST = 200
"""Levels of a document; JSON is written up to 254, and the deepest of Kubernetes' objects, a CRD, has some 60."""

# the same, ten times as fast, where PyYAML was built with libyaml
_Safe: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


_FORMS = {
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
    type(None): "nothing",
}


class ManifestError(KubeError):
    """A manifest cannot be read; the text names the file, the document in it and the fault."""


class Document(dict[str, Any]):
    """One object of a manifest that knows which file it came from, and where in it."""

    def __init__(self, body: dict[str, Any], source: str, where: str) -> None:
        super().__init__(body)
        self.source = source
        self.where = where


def is_policy_test(file: Path) -> bool:
    """Say whether a file is a suite of `penstock policy test`, by its name."""
    return file.name == _POLICY_TEST or file.name.endswith(f".{_POLICY_TEST}")


def load_documents(path: Path | str) -> list[dict[str, Any]]:
    """Return the objects of a file, or of all YAML and JSON files below a folder, in the order of their paths.

    Kustomizations and policy tests are instructions to a tool, not objects, and are left out. Raises ManifestError.
    """
    documents = read_documents(path)
    for document in documents:
        metadata = document.get("metadata")
        if not (isinstance(metadata, dict) and isinstance(metadata.get("name"), str) and metadata["name"]):
            raise ManifestError(f"{document.where}: {document['kind']}: metadata.name is required and must be text")
    return [*documents]


def read_documents(path: Path | str) -> list[Document]:
    """As `load_documents`, of objects that need not have a name."""
    root = Path(path)
    if root.is_dir():
        found = sorted(file for file in root.rglob("*") if file.suffix in SUFFIXES and file.is_file())
        files = [file for file in found if not is_policy_test(file)]
        if not files:
            raise ManifestError(f"{root}: holds no {', '.join(SUFFIXES)} file")
    elif root.is_file():
        files = [root]
    else:
        raise ManifestError(f"{root}: no such file or folder")
    return [document for file in files for document in parse_documents(read_text(file), str(file))]


def parse_documents(text: str, source: str) -> Iterator[Document]:
    """Yield the objects in a text, those of a List one by one, as `kubectl get -o yaml` writes them.

    `source` is where the text came from. Raises ManifestError.
    """
    for number, body in enumerate(parse(text, source), start=1):
        if body is None:
            continue  # nothing between two `---`
        where = f"{source}: document {number}"
        _check(body, where)
        if body["kind"] == "List" and body["apiVersion"] == "v1":
            for index, item in enumerate(body.get("items") or ()):
                _check(item, f"{where}: items[{index}]")
                yield Document(item, source, f"{where}: items[{index}]")
        elif not body["apiVersion"].startswith(_KUSTOMIZE):
            yield Document(body, source, where)


def parse(text: str, source: str) -> list[Any]:
    """Return every YAML document of a text as it stands. Raises ManifestError."""
    try:
        _refuse_deep(text, source)
        return list(yaml.load_all(text, Loader=_Loader))
    except yaml.YAMLError as error:
        raise ManifestError(f"{source}: not YAML: {one_line(error)}") from error


def _refuse_deep(text: str, source: str) -> None:
    """Whoever reads or writes values level by level would end in the middle, or end the program."""
    inside: list[str | None] = []
    for event in yaml.parse(text, Loader=_Safe):
        if isinstance(event, yaml.CollectionStartEvent):
            inside.append(event.anchor)
        elif isinstance(event, yaml.CollectionEndEvent):
            inside.pop()
        fault = ""
        if len(inside) > _DEEPEST:
            fault = f"is nested more than {_DEEPEST} levels deep, as no object is"
        elif isinstance(event, yaml.AliasEvent) and event.anchor in inside:
            fault = f"*{event.anchor} stands within what it refers to"
        if fault:
            at = "" if event.start_mark is None else f"line {event.start_mark.line + 1}: "
            raise ManifestError(f"{source}: {at}{fault}")


def read_stream(file: TextIO) -> str:
    """Return what an open file holds. Raises ManifestError."""
    try:
        return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise ManifestError(f"{file.name}: cannot be read: {one_line(error)}") from error


def read_text(file: Path) -> str:
    """Return what a file holds. Raises ManifestError."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ManifestError(f"{file}: cannot be read: {one_line(error)}") from error


class _Loader(_Safe):  # type: ignore[misc]  # the C loader has no types
    """Reads plain values alone, and no object with the same field twice: one of the two would be ignored."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value!r} stands here twice", key.start_mark)
            seen.add(str(key.value))
        result: dict[Any, Any] = super().construct_mapping(node, deep=deep)
        return result


def form(body: object) -> str:
    """What a value is, in the words of those who write YAML."""
    return _FORMS.get(type(body), "something else")


def _check(body: object, where: str) -> None:
    if not isinstance(body, dict):
        raise ManifestError(f"{where}: must be an object, is {form(body)}")
    for field in ("apiVersion", "kind"):
        if not isinstance(body.get(field), str) or not body[field]:
            raise ManifestError(f"{where}: {field} is required and must be text")
    if not isinstance(body.get("metadata", {}), dict):
        raise ManifestError(f"{where}: {body['kind']}: metadata must be an object, is {form(body['metadata'])}")

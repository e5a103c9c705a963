"""Manifests as people keep them: YAML files with one or more objects. Reads files; makes no request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from controller.kube.errors import KubeError, one_line

_SUFFIXES = (".yaml", ".yml", ".json")
_KUSTOMIZE = "kustomize.config.k8s.io/"


class ManifestError(KubeError):
    """A manifest cannot be read; the text names the file, the document in it and the fault."""


class Document(dict[str, Any]):
    """One object of a manifest that knows which file it came from."""

    def __init__(self, body: dict[str, Any], source: str) -> None:
        super().__init__(body)
        self.source = source


def load_documents(path: Path | str) -> list[dict[str, Any]]:
    """Return the objects of a file, or of all YAML and JSON files below a folder, in the order of their paths.

    Kustomizations are instructions to a tool, not objects, and are left out. Raises ManifestError.
    """
    root = Path(path)
    if root.is_dir():
        files = sorted(file for file in root.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
        if not files:
            raise ManifestError(f"{root}: holds no {', '.join(_SUFFIXES)} file")
    elif root.is_file():
        files = [root]
    else:
        raise ManifestError(f"{root}: no such file or folder")
    return [document for file in files for document in _documents(file)]


def _documents(file: Path) -> Iterator[Document]:
    try:
        bodies = list(yaml.safe_load_all(file.read_text(encoding="utf-8")))
    except yaml.YAMLError as error:
        raise ManifestError(f"{file}: not YAML: {one_line(error)}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ManifestError(f"{file}: cannot be read: {one_line(error)}") from error
    for number, body in enumerate(bodies, start=1):
        if body is None:
            continue  # nothing between two `---`
        _check(body, f"{file}: document {number}")
        if not body["apiVersion"].startswith(_KUSTOMIZE):
            yield Document(body, str(file))


def _check(body: object, where: str) -> None:
    if not isinstance(body, dict):
        raise ManifestError(f"{where}: must be an object, is {type(body).__name__}")
    for field in ("apiVersion", "kind"):
        if not isinstance(body.get(field), str) or not body[field]:
            raise ManifestError(f"{where}: {field} is required and must be text")
    metadata = body.get("metadata")
    named = isinstance(metadata, dict) and isinstance(metadata.get("name"), str) and metadata["name"]
    if not named and not body["apiVersion"].startswith(_KUSTOMIZE):
        raise ManifestError(f"{where}: {body['kind']}: metadata.name is required and must be text")

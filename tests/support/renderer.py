"""What Helm and kustomize make of our files, by `render`: a small Go program around their own libraries, built once."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from controller.kube.manifests import parse
from tests.support import go_programs

Json = dict[str, Any]

_MODULE = Path(__file__).parent / "render"
_SECONDS = 60
_HOOK = "helm.sh/hook"


class RenderError(Exception):
    """What the tool says is wrong."""


def ensure() -> Path:
    """The program, built if this version of it never was; that takes a minute or two."""
    return go_programs.ensure(_MODULE, "render", ".")


def helm(
    chart: Path,
    values: Mapping[str, Any],
    *,
    namespace: str = "penstock-system",
    kubernetes: str = "v1.37.2",
    kubeconfig: Path | None = None,
) -> dict[str, str]:
    """What `helm template` writes, by template: text. With a kubeconfig, what `helm install` would send there."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(dict(values), file)
        file.flush()
        cluster = [str(kubeconfig)] if kubeconfig else []
        rendered: dict[str, str] = json.loads(_run("helm", str(chart), namespace, file.name, kubernetes, *cluster))
    return rendered


def kustomize(folder: Path) -> list[Json]:
    """What `kustomize build` writes."""
    return list(_objects(_run("kustomize", str(folder))))


def objects(rendered: Mapping[str, str]) -> list[Json]:
    """The objects in a rendered chart that an installation has."""
    return [one for one in _every(rendered) if _HOOK not in one["metadata"].get("annotations", {})]


def hooks(rendered: Mapping[str, str]) -> dict[str, list[Json]]:
    """The other objects, by the command of Helm that they are of."""
    found: dict[str, list[Json]] = {}
    for one in _every(rendered):
        if command := one["metadata"].get("annotations", {}).get(_HOOK):
            found.setdefault(command, []).append(one)
    return found


def _every(rendered: Mapping[str, str]) -> Iterator[Json]:
    return (one for name, text in rendered.items() if name.endswith(".yaml") for one in _objects(text))


def _objects(text: str) -> Iterator[Json]:
    return (document for document in parse(text, "rendered") if document is not None)


def _run(*arguments: str) -> str:
    done = subprocess.run([ensure(), *arguments], capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode != 0:
        raise RenderError(done.stderr.strip())
    return done.stdout


if __name__ == "__main__":
    ensure()

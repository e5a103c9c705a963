"""Where the manifests that Penstock adds to a cluster are: beside the code in a checkout, inside it in a wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def manifests(name: str) -> Path:
    """Return the folder `config/<name>` as shipped, such as `crd`, `rbac`, `webhook` or `samples`."""
    inside = _PACKAGE / "config" / name
    return inside if inside.is_dir() else _PACKAGE.parent / "config" / name

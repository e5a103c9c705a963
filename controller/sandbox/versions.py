"""Which versions of Kubernetes a sandbox can run. Each has its Go modules in `gomod/kubernetes-<version>`."""

from __future__ import annotations

from typing import Final

from controller.sandbox.errors import SandboxError

VERSIONS: Final = ("1.37.2", "1.36.3")
"""The newest first."""
DEFAULT: Final = VERSIONS[0]
KWOK: Final = "0.8.0"
"""It simulates nodes of all of them."""


def check_version(version: str) -> str:
    """Return `version` when a sandbox can run it; else raise SandboxError."""
    if version not in VERSIONS:
        raise SandboxError(f"Kubernetes {version!r}: a sandbox runs only {' or '.join(VERSIONS)}; name one of these")
    return version

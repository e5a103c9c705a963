"""Where a sandbox keeps what: one folder each, below the user's state folder. Only paths; nothing is read here."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


def sandboxes_folder() -> Path:
    """Folder of all sandboxes of this user: `$XDG_STATE_HOME/penstock/sandboxes`."""
    return _base("XDG_STATE_HOME", ".local/state") / "penstock" / "sandboxes"


def cache_folder() -> Path:
    """Folder of built programs: `$XDG_CACHE_HOME/penstock/sandbox`."""
    return _base("XDG_CACHE_HOME", ".cache") / "penstock" / "sandbox"


def _base(variable: str, default: str) -> Path:
    # the XDG specification says that a relative path is to be ignored
    named = os.environ.get(variable, "")
    return Path(named) if Path(named).is_absolute() else Path.home() / default


@dataclass(frozen=True, slots=True)
class Layout:
    """The files of one sandbox."""

    folder: Path

    @classmethod
    def of(cls, name: str) -> Layout:
        """The place of the sandbox called `name`, whether it exists or not."""
        return cls(sandboxes_folder() / name)

    @property
    def state(self) -> Path:
        """What runs, written by the supervisor."""
        return self.folder / "state.json"

    @property
    def spec(self) -> Path:
        """What was asked for."""
        return self.folder / "spec.json"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.folder / "kubeconfig"

    @property
    def kubeconfigs(self) -> Path:
        """Folder of the kubeconfigs of the components and of service accounts."""
        return self.folder / "kubeconfigs"

    @property
    def pki(self) -> Path:
        """Folder of certificates and keys."""
        return self.folder / "pki"

    @property
    def ca(self) -> Path:
        """Certificate of the sandbox's own authority."""
        return self.pki / "ca.crt"

    @property
    def data(self) -> Path:
        """Etcd's data."""
        return self.folder / "etcd"

    @property
    def logs(self) -> Path:
        """Folder of one log per component, and the supervisor's."""
        return self.folder / "logs"

    @property
    def audit_policy(self) -> Path:
        """What the apiserver writes into the audit log."""
        return self.folder / "audit-policy.yaml"

    @property
    def audit_log(self) -> Path:
        """One JSON line for each write to a pod."""
        return self.logs / "audit.log"

    def log(self, component: str) -> Path:
        """Log of one component."""
        return self.logs / f"{component}.log"

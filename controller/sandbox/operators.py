"""Operators of other projects that a sandbox can run: which there are, what each is built from, and its command line.

Data and text only: `operator_builds` builds them, `operator_setup` gives each its CRDs, rights and account, and
`supervisor` runs them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from controller.sandbox.errors import SandboxError


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator. It acts as the ServiceAccount `account` of `namespace`, with the rights that it ships."""

    name: str
    program: str
    project: str
    """What people call it."""
    version: str
    module: str
    """The Go module that has its code and its manifests."""
    manifests: tuple[str, ...]
    """Files and folders of that module with its CRDs and its ClusterRole."""
    package: str
    namespace: str
    account: str
    flags: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What people call it, with its version."""
        return f"{self.project} v{self.version}"

    @property
    def folder(self) -> str:
        """Folder of `gomod` from which it is built."""
        return f"{self.program}-{self.version}"

    def command(self, program: str, *, kubeconfig: Path, address: str) -> tuple[str, ...]:
        """Its command line; it says at `address`, a host and port, whether it is ready."""
        own = (f"kubeconfig={kubeconfig}", f"health-probe-bind-address={address}")
        return (program, *(f"--{flag}" for flag in (*own, *_CLIENT, *self.flags)))


_CLIENT = ("qps=5000", "burst=10000")
"""As for the scheduler: the defaults would be what a benchmark measures."""
OPERATORS: Final = (
    Operator(
        name="ray",
        program="kuberay-operator",
        project="KubeRay",
        version="1.5.0",
        module="github.com/ray-project/kuberay/ray-operator",
        manifests=("config/crd/bases", "config/rbac/role.yaml"),
        package="github.com/ray-project/kuberay/ray-operator",
        namespace="ray-system",
        account="kuberay-operator",
        # it registers webhooks only where its environment asks for them
        flags=("enable-leader-election=false", "metrics-addr=0"),
    ),
    Operator(
        name="training",
        program="training-operator",
        project="Kubeflow's training operator",
        version="1.8.1",
        module="github.com/kubeflow/training-operator",
        manifests=("manifests/base/crds", "manifests/base/rbac/role.yaml"),
        package=".",
        namespace="kubeflow",
        account="training-operator",
    ),
)
NAMES: Final = tuple(operator.name for operator in OPERATORS)


def chosen(names: Iterable[str]) -> list[Operator]:
    """Return the operators of these names, each once and in the order of OPERATORS. Raises SandboxError."""
    asked = set(names)
    for name in sorted(asked.difference(NAMES)):
        raise SandboxError(
            f"operator {name!r}: a sandbox can run only {' and '.join(NAMES)}; name one of these or both"
        )
    return [operator for operator in OPERATORS if operator.name in asked]

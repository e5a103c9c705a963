"""Where the programs of the control plane come from: KUBEBUILDER_ASSETS, the user's cache, or a build with Go.

Finds and builds; starts none of them.
"""

from __future__ import annotations

import hashlib
import os
import platform
from dataclasses import dataclass
from pathlib import Path

from controller.sandbox import gobuild, toolchain
from controller.sandbox.errors import SandboxError
from controller.sandbox.layout import cache_folder
from controller.sandbox.progress import Progress

KUBERNETES = "v1.36.3"
KWOK = "v0.8.0"
ASSETS = "KUBEBUILDER_ASSETS"

_MODULES = Path(__file__).parent / "gomod"
_VERSION_PACKAGE = "k8s.io/component-base/version"
_STAMP = {
    "gitVersion": KUBERNETES,
    "gitMajor": KUBERNETES[1:].split(".")[0],
    "gitMinor": KUBERNETES[1:].split(".")[1],
    "gitTreeState": "clean",
    "gitCommit": KUBERNETES,
}
_NEEDED_OF_ASSETS = ("etcd", "kube-apiserver")
"""What setup-envtest installs; a folder without these is not what the variable is for."""


@dataclass(frozen=True, slots=True)
class _Program:
    name: str
    module: str
    package: str
    stamped: bool = False


_PROGRAMS = (
    _Program("etcd", "controlplane", "go.etcd.io/etcd/server/v3"),
    _Program("kube-apiserver", "controlplane", "k8s.io/kubernetes/cmd/kube-apiserver", stamped=True),
    _Program("kube-controller-manager", "controlplane", "k8s.io/kubernetes/cmd/kube-controller-manager", stamped=True),
    _Program("kube-scheduler", "controlplane", "k8s.io/kubernetes/cmd/kube-scheduler", stamped=True),
    _Program("kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok"),
)


def ensure(progress: Progress | None = None) -> dict[str, str]:
    """Return the path of every program, building what is missing; a full build takes minutes.

    Raises SandboxError when something is missing and cannot be built.
    """
    found = _from_assets(os.environ.get(ASSETS, ""))
    cache = cache_folder() / _version_key()
    wanted = [program for program in _PROGRAMS if program.name not in found]
    if _missing(cache, wanted):
        _build(cache, wanted, progress or Progress())
    return {program.name: found.get(program.name) or str(cache / program.name) for program in _PROGRAMS}


def _from_assets(named: str) -> dict[str, str]:
    if not named:
        return {}
    folder = Path(named)
    found = {program.name: str(folder / program.name) for program in _PROGRAMS if _runnable(folder / program.name)}
    missing = [name for name in _NEEDED_OF_ASSETS if name not in found]
    if missing:
        raise SandboxError(
            f"{ASSETS}={named} has no {' and no '.join(missing)} that can be run; unset it to build them here"
        )
    return found


def _runnable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _version_key() -> str:
    """A new key for every change of what would be built."""
    digest = hashlib.sha256(repr((_PROGRAMS, sorted(_STAMP.items()))).encode())
    for path in sorted(_MODULES.glob("*/go.*")):
        digest.update(path.read_bytes())
    system = f"{platform.system()}-{platform.machine()}".lower()
    return f"kubernetes-{KUBERNETES}-kwok-{KWOK}-{system}-{digest.hexdigest()[:8]}"


def _missing(cache: Path, wanted: list[_Program]) -> list[_Program]:
    return [program for program in wanted if not _runnable(cache / program.name)]


def _build(cache: Path, wanted: list[_Program], progress: Progress) -> None:
    with gobuild.one_builder(cache, progress):
        # another builder may have finished while we waited for the lock
        missing = _missing(cache, wanted)
        go = toolchain.go(cache.parent, progress) if missing else Path()
        for number, program in enumerate(missing, start=1):
            stamp = [f"-X {_VERSION_PACKAGE}.{key}={value}" for key, value in _STAMP.items()] if program.stamped else []
            gobuild.build(
                go,
                _MODULES / program.module,
                program.package,
                cache / program.name,
                progress=progress,
                flags=stamp,
                count=f" ({number} of {len(missing)})",
                remedy="check the network and GOPROXY, or set KUBEBUILDER_ASSETS to a folder with all programs",
            )

"""Where the programs of the control plane come from: KUBEBUILDER_ASSETS, the user's cache, or a build with Go.

Finds and builds; starts none of them.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from controller.sandbox import gobuild, operator_builds, toolchain
from controller.sandbox.errors import SandboxError
from controller.sandbox.layout import cache_folder
from controller.sandbox.progress import Progress
from controller.sandbox.versions import DEFAULT, KWOK, check_version

ASSETS = "KUBEBUILDER_ASSETS"

_VERSION_PACKAGE = "k8s.io/component-base/version"
_NEEDED_OF_ASSETS = ("etcd", "kube-apiserver")
"""What setup-envtest installs; a folder without these is not what the variable is for."""


@dataclass(frozen=True, slots=True)
class _Program:
    name: str
    package: str
    stamped: bool = False
    """Whether it says its version, which the linker writes into it."""


_KWOK = "kwok"
_PROGRAMS = (
    _Program("etcd", "go.etcd.io/etcd/server/v3"),
    _Program("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver", stamped=True),
    _Program("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager", stamped=True),
    _Program("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler", stamped=True),
    _Program(_KWOK, "sigs.k8s.io/kwok/cmd/kwok"),
)


def ensure(
    progress: Progress | None = None, *, kubernetes: str = DEFAULT, operators: Iterable[str] = ()
) -> dict[str, str]:
    """Return the path of every program of this version, building what is missing; a full build takes minutes.

    `operators` are names of `operators.OPERATORS`, whose programs come as well. Raises SandboxError when something is
    missing and cannot be built.
    """
    progress = progress or Progress()
    found = _from_assets(os.environ.get(ASSETS, ""))
    cache = cache_folder() / _version_key(check_version(kubernetes))
    wanted = [program for program in _PROGRAMS if program.name not in found]
    if _missing(cache, wanted):
        _build(cache, wanted, kubernetes, progress)
    ours = {program.name: found.get(program.name) or str(cache / program.name) for program in _PROGRAMS}
    return ours | operator_builds.ensure(operators, progress)


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


def module(program: str, kubernetes: str) -> Path:
    """Return the folder of the Go module that a program is built from."""
    return operator_builds.MODULES / (_KWOK if program == _KWOK else f"kubernetes-{kubernetes}")


def _version_key(kubernetes: str) -> str:
    """A new key for every change of what would be built; one for each version, so that they lie side by side."""
    digest = hashlib.sha256(repr((_PROGRAMS, _stamp(kubernetes))).encode())
    for folder in sorted({module(program.name, kubernetes) for program in _PROGRAMS}):
        for path in sorted(folder.glob("go.*")):
            digest.update(path.read_bytes())
    system = f"{platform.system()}-{platform.machine()}".lower()
    return f"kubernetes-v{kubernetes}-kwok-v{KWOK}-{system}-{digest.hexdigest()[:8]}"


def _stamp(kubernetes: str) -> list[str]:
    """What the linker writes into a program that says its version."""
    major, minor, _ = kubernetes.split(".")
    stamp = {"gitVersion": f"v{kubernetes}", "gitMajor": major, "gitMinor": minor}
    stamp |= {"gitTreeState": "clean", "gitCommit": f"v{kubernetes}"}
    return [f"-X {_VERSION_PACKAGE}.{key}={value}" for key, value in stamp.items()]


def _missing(cache: Path, wanted: list[_Program]) -> list[_Program]:
    return [program for program in wanted if not _runnable(cache / program.name)]


def _build(cache: Path, wanted: list[_Program], kubernetes: str, progress: Progress) -> None:
    with gobuild.one_builder(cache, progress):
        # another builder may have finished while we waited for the lock
        missing = _missing(cache, wanted)
        go = toolchain.go(cache.parent, progress) if missing else Path()
        for number, program in enumerate(missing, start=1):
            gobuild.build(
                go,
                module(program.name, kubernetes),
                program.package,
                cache / program.name,
                progress=progress,
                flags=_stamp(kubernetes) if program.stamped else [],
                count=f" ({number} of {len(missing)})",
                remedy="check the network and GOPROXY, or set KUBEBUILDER_ASSETS to a folder with all programs",
            )

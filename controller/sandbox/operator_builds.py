"""Builds operators with Go, and takes their manifests out of their Go modules. Neither starts one nor applies anything.

Each has a folder of the cache that no version of Kubernetes has a part in.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from controller.kube.manifests import load_documents
from controller.sandbox import gobuild, toolchain
from controller.sandbox.errors import SandboxError
from controller.sandbox.files import write_private
from controller.sandbox.layout import cache_folder
from controller.sandbox.operator_setup import request_for
from controller.sandbox.operators import Operator, chosen
from controller.sandbox.progress import Progress

MODULES = Path(__file__).parent / "gomod"

_KINDS = ("CustomResourceDefinition", "ClusterRole")
_REMEDY = "check the network and GOPROXY, or leave out --with"


def ensure(names: Iterable[str], progress: Progress) -> dict[str, str]:
    """Return the path of the program of each of these operators, building what is missing.

    Beside each is a file with its manifests (`operator_setup`). Raises SandboxError.
    """
    found = {operator: cache_folder() / _key(operator) for operator in chosen(names)}
    missing = [operator for operator, folder in found.items() if not _complete(folder, operator)]
    for number, operator in enumerate(missing, start=1):
        with gobuild.one_builder(found[operator], progress):
            # another builder may have finished while we waited for the lock
            if not _complete(found[operator], operator):
                _build(found[operator], operator, progress, count=f" ({number} of {len(missing)})")
    return {operator.program: str(folder / operator.program) for operator, folder in found.items()}


def _key(operator: Operator) -> str:
    """A new key for every change of what would be built or taken."""
    digest = hashlib.sha256(repr((operator, _KINDS)).encode())
    for path in sorted((MODULES / operator.folder).iterdir()):
        digest.update(path.read_bytes())
    system = f"{platform.system()}-{platform.machine()}".lower()
    return f"{operator.folder}-{system}-{digest.hexdigest()[:8]}"


def _complete(folder: Path, operator: Operator) -> bool:
    program = folder / operator.program
    return program.is_file() and os.access(program, os.X_OK)


def _build(folder: Path, operator: Operator, progress: Progress, *, count: str) -> None:
    go = toolchain.go(folder.parent, progress)
    # the program goes last: where it is, all is
    requests = [request_for(document) for document in _documents(go, folder, operator, progress)]
    write_private(folder / f"{operator.program}.json", orjson.dumps(requests))
    gobuild.build(
        go,
        MODULES / operator.folder,
        operator.package,
        folder / operator.program,
        progress=progress,
        count=count,
        remedy=_REMEDY,
    )


def _documents(go: Path, folder: Path, operator: Operator, progress: Progress) -> list[dict[str, Any]]:
    """What the operator's own project would have applied, in the order in which one needs the other."""
    module = gobuild.download(go, MODULES / operator.folder, operator.module, folder, progress=progress, remedy=_REMEDY)
    shipped = [one for name in operator.manifests for one in load_documents(module / name)]
    wanted = [one for one in shipped if one["kind"] in _KINDS]
    roles = [one["metadata"]["name"] for one in wanted if one["kind"] == "ClusterRole"]
    if len(roles) != 1 or len(wanted) == len(roles):
        raise SandboxError(f"{module}: {', '.join(operator.manifests)} have no CRD, or not one ClusterRole; {_REMEDY}")
    return [*wanted, *_account(operator, roles[0])]


def _account(operator: Operator, role: str) -> list[dict[str, Any]]:
    group = "rbac.authorization.k8s.io"
    namespace, name = operator.namespace, operator.account
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"namespace": namespace, "name": name}},
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "namespace": namespace, "name": name}],
        },
    ]

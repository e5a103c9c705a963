"""Files for `penstock policy`: suites, objects and pods, written to a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.support.api_objects import Json, cluster_pod_policy

SPOT = {"key": "spot", "operator": "Exists", "effect": "NoSchedule"}


def write(file: Path, *documents: Any) -> Path:
    """Write YAML documents; the folder is made."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump_all(documents, sort_keys=False), encoding="utf-8")
    return file


def a_pod(name: str = "one", *, labels: Json | None = None, namespace: str | None = None, **spec: Any) -> Json:
    """A pod as people write it."""
    metadata: Json = {"name": name, **({"labels": labels} if labels else {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**metadata, **({"namespace": namespace} if namespace else {})},
        "spec": {"containers": [{"name": "main", "image": "none"}], **spec},
    }


def a_namespace(name: str, **labels: str) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def a_case(name: str = "first", made: Any = None, result: str = "changed", **expect: Any) -> Json:
    """A case about a plain pod, which the policy of `a_suite` changes, or about the one that is `made`."""
    options: Json = {key: expect.pop(key) for key in ("namespace", "user", "groups") if key in expect}
    return {"name": name, "pod": a_pod() if made is None else made, **options, "expect": {"result": result, **expect}}


def a_suite(folder: Path, *cases: Json, objects: tuple[Json, ...] | None = None, **fields: Any) -> Path:
    """Write a suite and its objects: by default one cluster-wide policy that sets nodeSelector pool=batch."""
    policy = cluster_pod_policy("batch", nodeSelector={"pool": "batch"}, tolerations=[SPOT])
    write(folder / "objects.yaml", *((policy,) if objects is None else objects))
    document = {"name": "batch", "objects": ["objects.yaml"], "cases": list(cases or (a_case(),)), **fields}
    return write(folder / "policy-test.yaml", document)

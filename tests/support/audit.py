"""Read the audit log of a sandbox: the requests that its apiserver noted."""

from __future__ import annotations

from typing import Any

import orjson

from controller.sandbox import Sandbox

Json = dict[str, Any]


def requests(sandbox: Sandbox, *, namespace: str = "", resource: str = "") -> list[Json]:
    """Every entry so far, as dictionaries; with a namespace or a resource, those about objects of these.

    Penstock's accounts ask for paths without an object, too. The apiserver may be writing the last line.
    """
    lines = sandbox.audit_log.read_bytes().splitlines()
    found = [orjson.loads(line) for line in lines if line.endswith(b"}")]
    return [
        entry for entry in found if _is_about(entry, "namespace", namespace) and _is_about(entry, "resource", resource)
    ]


def _is_about(entry: Json, key: str, value: str) -> bool:
    return not value or entry.get("objectRef", {}).get(key) == value

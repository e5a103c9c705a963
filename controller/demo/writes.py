"""How often Penstock wrote to pods, as the audit log of the apiserver or the metrics of the controller have it."""

from __future__ import annotations

import urllib.request
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec
from prometheus_client.parser import text_string_to_metric_families

_CONTROLLER = "system:serviceaccount:penstock-system:penstock-controller"
_PATCHES = "penstock_release_patches_total"
_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Writes:
    """Writes to pods. `by_pod` counts release patches that took effect, None where nobody tells pods apart."""

    source: str
    released: int
    refused: int
    by_pod: Counter[tuple[str, str]] | None = None
    conditions: int | None = None


class _Object(msgspec.Struct):
    resource: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""


class _User(msgspec.Struct):
    username: str = ""


class _Answer(msgspec.Struct):
    code: int = 0


class _Entry(msgspec.Struct, rename="camel"):
    verb: str
    user: _User
    object_ref: _Object = msgspec.field(default_factory=_Object)
    response_status: _Answer = msgspec.field(default_factory=_Answer)

    @property
    def is_our_patch(self) -> bool:
        return self.user.username == _CONTROLLER and self.verb == "patch" and self.object_ref.resource == "pods"


def from_audit_log(log: Path) -> Writes:
    """Count in the apiserver's audit log, which also has the controller's other requests."""
    with log.open("rb") as lines:
        return _count(lines)


def _count(lines: Iterable[bytes]) -> Writes:
    decode = msgspec.json.Decoder(_Entry).decode
    ours = [entry for entry in map(decode, lines) if entry.is_our_patch]
    patches = [entry for entry in ours if entry.object_ref.subresource == ""]
    done = [entry.object_ref for entry in patches if entry.response_status.code < 300]
    return Writes(
        source="audit log",
        released=len(done),
        refused=len(patches) - len(done),
        by_pod=Counter((pod.namespace, pod.name) for pod in done),
        conditions=sum(entry.object_ref.subresource == "status" for entry in ours),
    )


def from_metrics(port: int) -> Writes:
    """Read the metrics of a controller that listens on a port of this machine. Blocking."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=_SECONDS) as answer:
        text = answer.read().decode()
    counts: Counter[str] = Counter()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == _PATCHES:
                counts[sample.labels["result"]] += int(sample.value)
    released = counts.pop("released", 0)
    return Writes(source="the controller's metrics", released=released, refused=counts.total())

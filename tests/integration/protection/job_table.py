"""What the table of requests about Jobs is written in. The rows are in `job_rows`; the words are those of `table`."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from controller.core.gate.protection import Rule
from controller.core.keys import (
    ADMITTED_AT,
    ADMITTED_BY,
    ADMITTED_JOB,
    CLUSTER_QUEUE,
    FLAVOR,
    ORIGINAL_TEMPLATE,
    QUEUE_NAME,
)
from tests.integration.protection.table import Refused, Where, Who

Json = dict[str, Any]
FORMER = "a-former-leader"
"""In whose name the Jobs of the table were admitted."""
STAMPS_OF_JOB: Json = {
    "labels": {CLUSTER_QUEUE: "team", FLAVOR: "spot"},
    "annotations": {ADMITTED_AT: "2026-03-01T08:00:00Z", ADMITTED_BY: FORMER, ORIGINAL_TEMPLATE: "{}"},
}
OF_JOB_SET: Json = {
    "ownerReferences": [
        {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "set", "uid": "table", "controller": True}
    ]
}
STAMPS_OF_PART: Json = {
    "labels": {QUEUE_NAME: "main", CLUSTER_QUEUE: "team", FLAVOR: "spot"},
    "annotations": {ADMITTED_AT: "2026-03-01T08:00:00Z", ADMITTED_JOB: "table/workers"},
}
"""Of a pod set of the JobSet that controls a Job, in the Job's template."""
STAMPS_OF_TEMPLATE: Json = {
    "labels": {QUEUE_NAME: "main", CLUSTER_QUEUE: "team", FLAVOR: "spot"},
    "annotations": {ADMITTED_AT: "2026-03-01T08:00:00Z", ADMITTED_JOB: "its uid"},
}


class JobStart(StrEnum):
    OUTSIDE = "outside"
    """Names no queue, and is suspended."""
    WAITING = "waiting"
    """Of a queue, suspended."""
    ADMITTED = "admitted"
    """With stamps, in its template too, and running."""
    INDEXED = "indexed"
    """The same, of an Indexed Job with as many completions as pods at a time."""
    WIDE = "wide"
    """The same, with more pods at a time than completions: these are three and two."""
    LIMITED = "limited"
    """Admitted to run for an hour."""
    SUSPENDED = "suspended"
    """Admitted, and suspended again."""
    FOREIGN = "foreign"
    """Names a queue, and another controller runs it."""
    PART_WAITING = "part that waits"
    """Of a JobSet that was not admitted yet: suspended."""
    PART = "part"
    """Of a JobSet that was admitted: with the stamps of that in its template, and running."""
    PART_STOPPED = "stopped part"
    """The same, suspended again."""


@dataclass(frozen=True, slots=True)
class CreateJob:
    """Create a Job with this metadata, and that of its template."""

    metadata: Json = field(default_factory=dict)
    template: Json = field(default_factory=dict)
    spec: Json = field(default_factory=dict)
    where: Where = Where.PLAIN


@dataclass(frozen=True, slots=True)
class UpdateJob:
    """Change a Job by merge patch, through its status if that is named."""

    start: JobStart
    patch: Json
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Stored:
    """It goes through; where it is said, suspended or not, with these labels, and without these keys.

    `labels` and `without` are of the Job, the others of its template; `user` is whose its pods are.
    """

    suspended: bool | None = None
    labels: Json = field(default_factory=dict)
    without: tuple[str, ...] = ()
    template_labels: Json = field(default_factory=dict)
    template_without: tuple[str, ...] = ()
    has_user: bool | None = None
    parallelism: int | None = None
    completions: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """`warning`: words of a warning that only the webhook gives."""

    rule: Rule
    name: str
    who: Who = Who.EDITOR
    does: CreateJob | UpdateJob
    outcome: Stored | Refused
    warning: str = ""


def change(path: str, part: str, key: str, value: str | None) -> Json:
    """A patch of one label or annotation, of the Job or of its template."""
    metadata: Json = {"metadata": {part: {key: value}}}
    return {"spec": {"template": metadata}} if path else metadata


def spec(**fields: object) -> Json:
    return {"spec": fields}

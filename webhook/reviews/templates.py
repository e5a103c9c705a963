"""Reviews of the objects that make pods from a template: where the template stands in each, and what of them counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from controller.core.gate.job_protection import GuardedJob
from webhook.reviews.admission import BadReview, Request, Unreadable, opened, request_of, resource_of

_TEMPLATE = ("spec", "template")
_ACCOUNTS = "system:serviceaccount:kube-system:"


@dataclass(frozen=True, slots=True)
class Workload:
    """A kind of object with a pod template at `path`.

    `is_fixed`: the apiserver lets only a part of the template be changed later, and only while the object is suspended
    (KEP-2926, KEP-5440; `validatePodTemplateUpdate` of k8s.io/kubernetes/pkg/apis/batch/validation). `is_revision`:
    others make such objects from a template of their own, one for each state or run of it; `maker` is the account of
    the controller of Kubernetes that does.
    """

    path: tuple[str, ...] = _TEMPLATE
    is_fixed: bool = False
    is_revision: bool = False
    maker: str = ""


WORKLOADS: Final[Mapping[tuple[str, str], Workload]] = {
    ("", "replicationcontrollers"): Workload(is_revision=True),
    ("apps", "replicasets"): Workload(is_revision=True, maker=f"{_ACCOUNTS}deployment-controller"),
    ("apps", "deployments"): Workload(),
    ("apps", "statefulsets"): Workload(),
    ("apps", "daemonsets"): Workload(),
    ("batch", "jobs"): Workload(is_fixed=True, is_revision=True, maker=f"{_ACCOUNTS}cronjob-controller"),
    ("batch", "cronjobs"): Workload(("spec", "jobTemplate", *_TEMPLATE)),
}
"""By group and plural name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateRequest:
    """A request about an object with a template. The `pod` of `inner` is the template, empty when there is none."""

    inner: Request
    workload: Workload
    has_controller: bool
    is_of_another: bool
    """Whether something else than a CronJob controls it, which then says when it begins."""
    is_terminating: bool
    kind: str
    """The plural name, such as `jobs`."""
    makes: GuardedJob
    """What its pods are made by, with its template: the object itself, or the Jobs that a CronJob makes."""
    former: GuardedJob | None
    """The same as it is stored; None when there is none yet."""

    @property
    def path(self) -> str:
        """The template's place as people write it."""
        return ".".join(self.workload.path)


class _Owner(msgspec.Struct):
    controller: bool | None = None
    group_version: str = msgspec.field(name="apiVersion", default="")
    kind: str = ""

    @property
    def is_cron_job(self) -> bool:
        return self.kind == "CronJob" and self.group_version.startswith("batch/")


class _Metadata(msgspec.Struct):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owners: list[_Owner] | None = msgspec.field(name="ownerReferences", default=None)
    deletion: str | None = msgspec.field(name="deletionTimestamp", default=None)


class _Spec(msgspec.Struct):
    parallelism: int | None = None
    completions: int | None = None
    completion_mode: str | None = msgspec.field(name="completionMode", default=None)
    suspend: bool | None = None
    deadline: int | None = msgspec.field(name="activeDeadlineSeconds", default=None)
    managed_by: str | None = msgspec.field(name="managedBy", default=None)
    jobs: _Jobs | None = msgspec.field(name="jobTemplate", default=None)


class _Jobs(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: _Spec = msgspec.field(default_factory=_Spec)


class _Status(msgspec.Struct):
    started: str | None = msgspec.field(name="startTime", default=None)


class _Object(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


def read_template(body: bytes | bytearray) -> TemplateRequest:
    """Read the request of a review of an object with a pod template. Raises BadReview when it is of no such kind."""
    request = opened(body)
    resource = resource_of(request)
    workload = WORKLOADS.get(resource) if resource is not None else None
    if workload is None:
        raise BadReview("request.resource has no pod template; correct the rules of the webhook configuration")
    paths = {which: _template(request, which, workload.path) for which in ("object", "oldObject")}
    holder = _object(request, "object")
    former = _object(request, "oldObject") if request.get("oldObject") else None
    return TemplateRequest(
        inner=request_of({**request, **paths}),
        workload=workload,
        has_controller=any(owner.controller for owner in holder.metadata.owners or ()),
        is_of_another=any(owner.controller and not owner.is_cron_job for owner in holder.metadata.owners or ()),
        is_terminating=holder.metadata.deletion is not None,
        kind=resource[1] if resource is not None else "",
        makes=_maker(holder, paths["object"]),
        former=None if former is None else _maker(former, paths["oldObject"]),
    )


def _object(request: Mapping[str, Any], which: str) -> _Object:
    try:
        return msgspec.convert(request.get(which) or {"metadata": {}}, _Object)
    except msgspec.ValidationError as error:
        raise Unreadable(request["uid"], f"request.{which}: {error}") from None


def _maker(holder: _Object, template: Mapping[str, Any] | None) -> GuardedJob:
    makes = holder.spec.jobs or holder
    return GuardedJob(
        labels=makes.metadata.labels or {},
        annotations=makes.metadata.annotations or {},
        template=template or {},
        # one where it does not say: the apiserver writes it into Jobs
        parallelism=1 if makes.spec.parallelism is None else makes.spec.parallelism,
        completions=makes.spec.completions,
        is_indexed=makes.spec.completion_mode == "Indexed",
        is_suspended=bool(makes.spec.suspend),
        deadline=makes.spec.deadline or 0,
        managed_by=makes.spec.managed_by or "",
        has_started=holder.status.started is not None,
    )


def _template(request: Mapping[str, Any], which: str, path: tuple[str, ...]) -> Mapping[str, Any] | None:
    """The template in an object; None without an object, or where the apiserver allows that there is none."""
    found: Mapping[str, Any] | None = request
    for name in (which, *path):
        inner = (found or {}).get(name)
        if inner is not None and not isinstance(inner, dict):
            raise BadReview(f"request.{which}: {'.'.join(path)} is not an object")
        found = inner
    return found

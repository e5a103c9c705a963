"""A WorkloadKind as written (`controller.api`) to what reads objects by it (`core.workload_kinds`)."""

from __future__ import annotations

from controller.api.workload_kind import EndSign
from controller.api.workload_kind import PodSetPaths as WrittenPaths
from controller.api.workload_kind import WorkloadKind as WrittenKind
from controller.core.workload_kinds.kinds import Ending, Path, PodSetPaths, Validation, WorkloadKind


def to_workload_kind(written: WrittenKind) -> WorkloadKind:
    """Return the kind as objects are read by it."""
    spec = written.spec
    return WorkloadKind(
        group=spec.group,
        version=spec.version,
        kind=spec.kind,
        resource=spec.resource,
        suspend=_path(spec.suspend),
        pod_sets=tuple(map(_pod_sets, spec.pod_sets)),
        endings=tuple(map(_ending, spec.finished)),
        validations=tuple(Validation(one.expression, one.message) for one in spec.validations),
    )


def _pod_sets(written: WrittenPaths) -> PodSetPaths:
    return PodSetPaths(
        template=_path(written.template),
        name=written.name or "",
        each=_path(written.each),
        name_path=_path(written.name_field),
        counts=tuple(map(_path, written.counts)),
    )


def _ending(written: EndSign) -> Ending:
    return Ending(written.condition or "", _path(written.path), written.values or ())


def _path(text: str | None) -> Path:
    return tuple((text or "").split("."))[1:]

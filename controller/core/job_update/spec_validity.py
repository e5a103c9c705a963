"""Whether the spec of a Job is well formed, its template apart.

Mirrors `ValidateJob`, `validateJobSpec` and `validatePodReplacementPolicy`. The policies on failure and success cannot
change (`update`), so what is in them was found well formed before; the latter has to fit completions that change.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from controller.core.job_update import success_policy
from controller.core.kubernetes.names import is_dns_label
from controller.core.pod_update.equality import Json
from controller.core.pod_update.violation import Cause, Violation, invalid, shown

_NOT_NEGATIVE: Final = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
_MODES: Final = ("NonIndexed", "Indexed")
_REPLACEMENTS: Final = ("Failed", "TerminatingOrFailed")
_MOST_PARALLEL: Final = 100_000
_MANY_COMPLETIONS: Final = 100_000
_MOST_PARALLEL_OF_MANY: Final = 10_000
_MOST_FAILED: Final = 100_000
_MOST_FAILED_OF_MANY: Final = 10_000


def violations(job: Json) -> Iterator[Violation]:
    """Return what is malformed."""
    spec = job.get("spec") or {}
    for name in _NOT_NEGATIVE:
        if (spec.get(name) or 0) < 0:
            yield invalid(f"spec.{name}", f"is {spec[name]}; must not be negative")
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        yield invalid("spec.backoffLimitPerIndex", "is needed beside maxFailedIndexes", Cause.REQUIRED)
    mode = spec.get("completionMode")
    if mode is not None and mode not in _MODES:
        yield invalid("spec.completionMode", f"is {shown(mode)}; must be Indexed or NonIndexed", Cause.NOT_SUPPORTED)
    if mode == "Indexed":
        yield from _indexed(spec)
        yield from _hostname(job, spec.get("completions"))
        yield from success_policy.violations(spec)
    else:
        yield from _not_indexed(spec)
    yield from _replacement(spec)
    yield from _restart(spec)


def _not_indexed(spec: Json) -> Iterator[Violation]:
    names = ("backoffLimitPerIndex", "maxFailedIndexes") if spec.get("completionMode") in (None, "NonIndexed") else ()
    for name in (*names, "successPolicy"):
        if spec.get(name) is not None:
            yield invalid(f"spec.{name}", f"is {shown(spec[name])}; only an Indexed Job can have it")


def _indexed(spec: Json) -> Iterator[Violation]:
    completions, parallelism = spec.get("completions"), spec.get("parallelism")
    failed = spec.get("maxFailedIndexes")
    if completions is None:
        yield invalid("spec.completions", "is needed by an Indexed Job", Cause.REQUIRED)
    if parallelism is not None and parallelism > _MOST_PARALLEL:
        yield invalid("spec.parallelism", f"is {parallelism}; must be at most {_MOST_PARALLEL} of an Indexed Job")
    if completions is not None and failed is not None and failed > completions:
        yield invalid("spec.maxFailedIndexes", f"is {failed}; must be at most as many as completions")
    if failed is not None and failed > _MOST_FAILED:
        yield invalid("spec.maxFailedIndexes", f"is {failed}; must be at most {_MOST_FAILED}")
    if completions is not None and completions > _MANY_COMPLETIONS and spec.get("backoffLimitPerIndex") is not None:
        yield from _many(parallelism, failed)


def _many(parallelism: int | None, failed: int | None) -> Iterator[Violation]:
    """Of more than 100,000 completions with a limit for each index."""
    if failed is None:
        yield invalid("spec.maxFailedIndexes", f"is needed above {_MANY_COMPLETIONS} completions", Cause.REQUIRED)
    elif failed > _MOST_FAILED_OF_MANY:
        yield invalid("spec.maxFailedIndexes", f"is {failed}; must be at most {_MOST_FAILED_OF_MANY} of so many")
    if parallelism is not None and parallelism > _MOST_PARALLEL_OF_MANY:
        yield invalid("spec.parallelism", f"is {parallelism}; must be at most {_MOST_PARALLEL_OF_MANY} of so many")


def _hostname(job: Json, completions: int | None) -> Iterator[Violation]:
    """The name of the last pod has to be one of a host."""
    name = (job.get("metadata") or {}).get("name") or ""
    if completions is not None and completions > 0 and not is_dns_label(f"{name}-{completions - 1}"):
        text = f"is {shown(name)}; with -{completions - 1} behind it, it must be the name of a host"
        yield invalid("metadata.name", text)


def _replacement(spec: Json) -> Iterator[Violation]:
    policy, path = spec.get("podReplacementPolicy"), "spec.podReplacementPolicy"
    legal = _REPLACEMENTS[:1] if spec.get("podFailurePolicy") is not None else _REPLACEMENTS
    if policy is not None and policy not in legal:
        yield invalid(path, f"is {shown(policy)}; must be {' or '.join(legal)}", Cause.NOT_SUPPORTED)


def _restart(spec: Json) -> Iterator[Violation]:
    policy: Any = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy")
    path = "spec.template.spec.restartPolicy"
    if policy in (None, "", "Always"):
        yield invalid(path, f"is {shown(policy)}; must be OnFailure or Never", Cause.REQUIRED)
    elif policy not in ("OnFailure", "Never"):
        yield invalid(path, f"is {shown(policy)}; must be OnFailure or Never", Cause.NOT_SUPPORTED)
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        yield invalid(path, f"is {policy}; must be Never beside podFailurePolicy")

"""The selector that the apiserver has generated for a Job, and the labels of its template that go with it.

Mirrors `validateGeneratedSelector`, and what `ValidateJobSpec` says of the selector
(k8s.io/kubernetes/pkg/apis/batch/validation).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from controller.core.pod_update.equality import Json
from controller.core.pod_update.violation import Cause, Violation, invalid, shown

_LEGACY: Final = {"controller-uid": "uid", "job-name": "name"}
_PREFIXED: Final = {"batch.kubernetes.io/controller-uid": "uid", "batch.kubernetes.io/job-name": "name"}


def violations(new: Json) -> Iterator[Violation]:
    """Return what is wrong with the labels of the template beside the selector."""
    selector, labels = (new.get("spec") or {}).get("selector"), _labels(new)
    if selector is None:
        yield invalid("spec.selector", "is gone; it was generated when the Job was created", Cause.REQUIRED)
        yield invalid("spec.template.metadata.labels", "match no selector, since there is none")
    elif not _matches(selector, labels):
        yield invalid("spec.template.metadata.labels", f"are {shown(labels)}, which the selector does not match")


def of_creation(old: Json, new: Json) -> Iterator[Violation]:
    """Return what is wrong with selector and labels beside the identity of the Job."""
    spec, metadata, labels = new.get("spec") or {}, new.get("metadata") or {}, _labels(new)
    selector = spec.get("selector")
    if selector is None or spec.get("manualSelector"):
        return
    # what the apiserver puts back when it is missing
    identity = {
        "uid": metadata.get("uid") or (old.get("metadata") or {}).get("uid") or "",
        "name": metadata.get("name") or "",
    }
    expected = {key: identity[what] for key, what in {**_LEGACY, **(_PREFIXED if _had_prefixed(old) else {})}.items()}
    for key, value in expected.items():
        path = f"spec.template.metadata.labels[{key}]"
        if key not in labels:
            yield invalid(path, f"is gone; it was generated, and must be {shown(value)}", Cause.REQUIRED)
        elif labels[key] != value:
            yield invalid(path, f"is {shown(labels[key])}; it was generated, and must be {shown(value)}")
    if not _matches(selector, expected):
        yield invalid("spec.selector", f"is {shown(selector)}, which is not the one that was generated")


def _had_prefixed(old: Json) -> bool:
    labels = _labels(old)
    return all(key in labels for key in _PREFIXED)


def _labels(job: Json) -> Mapping[str, str]:
    template = (job.get("spec") or {}).get("template") or {}
    found: Mapping[str, str] = (template.get("metadata") or {}).get("labels") or {}
    return found


def _matches(selector: Json, labels: Mapping[str, str]) -> bool:
    """Of a selector of labels alone, as generated ones are; one with expressions is somebody's own and matches."""
    wanted: Mapping[str, str] = selector.get("matchLabels") or {}
    return all(labels.get(key) == value for key, value in wanted.items())

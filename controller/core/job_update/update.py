"""The whole verdict on an update of a Job: metadata, what is malformed in the new spec, and what had to stay.

Mirrors `rest.BeforeUpdate` (k8s.io/apiserver) with the strategy of Jobs (k8s.io/kubernetes/pkg/registry/batch/job), and
`ValidateJobUpdate` (k8s.io/kubernetes/pkg/apis/batch/validation).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from controller.core.job_update import generated_selector, spec_validity, template
from controller.core.pod_update import metadata, pod_annotations
from controller.core.pod_update.equality import Json, same_field
from controller.core.pod_update.violation import NEWEST, Cause, Rule, Violation, invalid, shown

_ONLY_WHAT_CHANGES: Final = 37
_IMMUTABLE: Final = (
    "selector",
    "completionMode",
    "podFailurePolicy",
    "backoffLimitPerIndex",
    "managedBy",
    "successPolicy",
)


def may_change(old: Json, new: Json, *, minor: int = NEWEST) -> tuple[Violation, ...]:
    """Return what the apiserver would refuse in an update of Job `old` to `new`; nothing when it is legal.

    `minor` is that of the Kubernetes that speaks, 36 or 37. Until 1.36 an update has to pass the checks of a creation
    too: the labels that the apiserver generated in the template, its selector, and `generateName`. So what is legal in
    1.36 is legal in 1.37, and who has to do with both keeps to 36.

    Both are Jobs as the apiserver writes them, with its defaults: `old` as stored, with its status, `new` as sent and
    after mutating admission. The verdict is the apiserver's for every `new`, provided that it would take `old` again,
    unchanged, that its feature gates are at their defaults, and that what `new` has anew in its template is either a
    scheduling directive, metadata, or well formed.
    """
    before, after = old.get("spec") or {}, new.get("spec") or {}
    found = [*metadata.of_object(old, new, minor=minor), *_annotations(old, new)]
    found += _as_created(old, new) if minor < _ONLY_WHAT_CHANGES else _prefix(new)
    found += generated_selector.violations(new)
    found += spec_validity.violations(new)
    found += _completions(before, after)
    found += template.violations(old, before, after)
    found += [_stays(name, before, after) for name in _IMMUTABLE if _differs(name, before, after)]
    return tuple(dict.fromkeys(found))


def _as_created(old: Json, new: Json) -> Iterator[Violation]:
    """What `ValidateJob` finds beside what an update is asked for."""
    yield from metadata.generated_name(new)
    yield from generated_selector.of_creation(old, new)


def _prefix(new: Json) -> Iterator[Violation]:
    """Mirrors `IsValidPathSegmentPrefix`."""
    prefix = (new.get("metadata") or {}).get("generateName") or ""
    if "/" in prefix or "%" in prefix:
        yield invalid("metadata.generateName", f"is {shown(prefix)}; must not contain / or %")


def _annotations(old: Json, new: Json) -> Iterator[Violation]:
    before, after = ((one.get("metadata") or {}).get("annotations") or {} for one in (old, new))
    if before != after:
        yield from pod_annotations.names("metadata.annotations", after)


def _differs(name: str, old: Json, new: Json) -> bool:
    return not same_field(name, old.get(name), new.get(name))


def _stays(name: str, old: Json, new: Json) -> Violation:
    text = f"was {shown(old.get(name))} and would be {shown(new.get(name))}; it cannot be changed"
    return Violation(f"spec.{name}", Cause.INVALID, Rule.SPEC_STAYS, text)


def _completions(old: Json, new: Json) -> Iterator[Violation]:
    """Mirrors `validateCompletions`."""
    was, now = old.get("completions"), new.get("completions")
    if was == now:
        return
    if new.get("completionMode") != "Indexed":
        yield _stays("completions", old, new)
    elif now is not None and now != _parallelism(new):
        text = f"was {was} and would be {now}; of an Indexed Job it changes only together with parallelism, to the same"
        yield Violation("spec.completions", Cause.INVALID, Rule.SPEC_STAYS, text)


def _parallelism(spec: Json) -> Any:
    """The apiserver writes 1 where nothing stands."""
    value = spec.get("parallelism")
    return 1 if value is None else value

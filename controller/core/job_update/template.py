"""What of a Job's pod template may change: scheduling directives and resources, while it is suspended and has no pods.

Mirrors `validatePodTemplateUpdate`, `validatePodResourceUpdatesOnly` and `shouldAllowMutablePodTemplate` (KEP-2926,
KEP-5440), and what `ValidatePodTemplateSpec` says of directives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from controller.core.pod_update import metadata, pod_annotations, spec_validity
from controller.core.pod_update.equality import Json, differing, same_field
from controller.core.pod_update.violation import Cause, Rule, Violation

_PATH: Final = "spec.template"
_DIRECTIVES: Final = ("nodeSelector", "tolerations", "schedulingGates")
_NAMED_MOST: Final = 4


def is_mutable(job: Json) -> bool:
    """Whether the directives and resources of its template may change: suspended, without pods, not begun or over."""
    spec, status = job.get("spec") or {}, job.get("status") or {}
    has_settled = not status.get("startTime") or any(
        one.get("type") == "Suspended" and one.get("status") == "True" for one in status.get("conditions") or ()
    )
    return bool(spec.get("suspend")) and has_settled and not status.get("active")


def violations(job: Json, old: Json, new: Json) -> Iterator[Violation]:
    """Return what the apiserver would refuse in the template; `old` and `new` are specs, `job` is the stored one."""
    before, after = old.get("template") or {}, new.get("template") or {}
    if before == after:
        return
    yield from _validity(before, after)
    if not is_mutable(job):
        changes = [*_changes_of_metadata(before, after), *differing(_spec(before), _spec(after))]
        yield from _refused(_PATH, changes, "; suspend the Job and wait until it has no pods")
    else:
        # of its metadata nothing is compared then, but labels and annotations are all that it means
        yield from _refused(f"{_PATH}.spec", list(_beyond_directives(_spec(before), _spec(after))), "")


def _refused(path: str, changes: list[str], hint: str) -> Iterator[Violation]:
    if changes:
        more = f" and {len(changes) - _NAMED_MOST} more" if len(changes) > _NAMED_MOST else ""
        text = f"{', '.join(changes[:_NAMED_MOST])}{more} would change{hint}"
        yield Violation(path, Cause.INVALID, Rule.SPEC_STAYS, text)


def _validity(old: Json, new: Json) -> Iterator[Violation]:
    """Return what is malformed in what is new, at the paths of the template."""
    before, after = _spec(old), _spec(new)
    for one in spec_validity.violations(before, after):
        yield replace(one, path=f"{_PATH}.{one.path}")
    yield from metadata.labels(f"{_PATH}.labels", (new.get("metadata") or {}).get("labels") or {})
    path, annotations = f"{_PATH}.annotations", _annotations(new)
    yield from pod_annotations.names(path, annotations)
    yield from pod_annotations.of_pods(path, _annotations(old), annotations, before, after)


def _beyond_directives(old: Json, new: Json) -> Iterator[str]:
    """Yield the fields of the pod's spec that differ, but for directives and the resources of containers."""
    yield from differing(old, new, (*_DIRECTIVES, "affinity", "containers", "initContainers"))
    if not _same_pod_affinities(old, new):
        yield "affinity"
    for name in ("containers", "initContainers"):
        if not _same_containers(old.get(name) or [], new.get(name) or []):
            yield name


def _same_pod_affinities(old: Json, new: Json) -> bool:
    """Whether the affinity is the same but for node affinity; one of nothing else may come and go.

    Mirrors the three cases of `validatePodTemplateUpdate`.
    """
    was, now = ({**(one.get("affinity") or {}), "nodeAffinity": None} for one in (old, new))
    return not differing(was, now)


def _same_containers(old: list[Json], new: list[Json]) -> bool:
    if len(old) != len(new):
        return False
    return all(
        not differing(was, now, ("resources",) if was.get("name") == now.get("name") else ())
        for was, now in zip(old, new, strict=True)
    )


def _changes_of_metadata(old: Json, new: Json) -> list[str]:
    before, after = ({**(one.get("metadata") or {}), "annotations": _annotations(one)} for one in (old, new))
    names = before.keys() | after.keys()
    return sorted(name for name in names if not same_field(name, before.get(name), after.get(name)))


def _spec(template: Json) -> Json:
    spec: Json = template.get("spec") or {}
    return spec


def _annotations(template: Json) -> Mapping[str, str]:
    return pod_annotations.kept((template.get("metadata") or {}).get("annotations") or {})

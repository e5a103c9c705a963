"""What of a pod's annotations can be changed, and whether what is new there is well formed.

Mirrors `ValidateAnnotations` (k8s.io/apimachinery), `ValidatePodSpecificAnnotations` and
`ValidatePodSpecificAnnotationUpdates` (k8s.io/kubernetes/pkg/apis/core/validation).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from controller.core.kubernetes.names import LABEL_KEY_FORM, is_label_key
from controller.core.pod_update.annotated_tolerations import TOLERATIONS, annotated_tolerations
from controller.core.pod_update.equality import Json
from controller.core.pod_update.spec_validity import compares_tolerations
from controller.core.pod_update.violation import Cause, Rule, Violation, invalid, shown

_PATH: Final = "metadata.annotations"
_BYTES_MOST: Final = 256 * 1024
_MIRROR: Final = "kubernetes.io/config.mirror"
_APPARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_DROPPED: Final = frozenset(
    f"pod.{stage}.kubernetes.io/init-container{what}" for stage in ("alpha", "beta") for what in ("s", "-statuses")
)
"""What the apiserver drops when it reads a pod: `dropInitContainerAnnotations`."""
_DELETION_COST_FORM: Final = re.compile("(-?)0*([0-9]{1,10})")


def violations(old: Json, new: Json, *, is_same_spec: bool) -> Iterator[Violation]:
    """Return what the apiserver would refuse in the annotations of an update."""
    before, after = _of(old), _of(new)
    is_same = before == after
    if not is_same:
        yield from names(_PATH, after)
        yield from _fixed(before, after)
    if not (is_same and is_same_spec):
        yield from of_pods(_PATH, before, after, old.get("spec") or {}, new.get("spec") or {})


def of_pods(
    path: str, old: Mapping[str, str], new: Mapping[str, str], before: Json, after: Json
) -> Iterator[Violation]:
    """Return what is wrong with those that mean something for a pod, beside its spec before and after.

    Mirrors `ValidatePodSpecificAnnotations`.
    """
    yield from _profiles(path, new, after)
    yield from _others(path, old, new, before, after)


def kept(every: Mapping[str, str]) -> Mapping[str, str]:
    """Return annotations of a pod, or of a template, without those that the apiserver drops when it reads them."""
    if _DROPPED.isdisjoint(every):
        return every
    return {key: value for key, value in every.items() if key not in _DROPPED}


def _of(pod: Json) -> Mapping[str, str]:
    return kept((pod.get("metadata") or {}).get("annotations") or {})


def names(path: str, annotations: Mapping[str, str]) -> Iterator[Violation]:
    """Return what is wrong with annotations of any object at a path. Mirrors `ValidateAnnotations`."""
    for key in annotations:
        if not is_label_key(key.lower()):
            yield invalid(path, f"the key {shown(key)} is none; must be {LABEL_KEY_FORM}")
    size = sum(len(text.encode()) for pair in annotations.items() for text in pair)
    if size > _BYTES_MOST:
        text = f"take {size} bytes together; at most {_BYTES_MOST} are kept"
        yield invalid(path, text, Cause.TOO_LONG)


def _fixed(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Violation]:
    """Mirrors `ValidatePodSpecificAnnotationUpdates`."""
    for key in {**old, **new}:
        if old.get(key) != new.get(key) and (key == _MIRROR or key.startswith(_APPARMOR)):
            text = f"was {shown(old.get(key))} and would be {shown(new.get(key))}; it is set when the pod is created"
            yield Violation(f"{_PATH}[{key}]", Cause.FORBIDDEN, Rule.ANNOTATION_STAYS, text)


def _profiles(path: str, annotations: Mapping[str, str], spec: Json) -> Iterator[Violation]:
    """Mirrors `ValidateSeccompPodAnnotations` and `ValidateAppArmorPodAnnotations`."""
    for key, profile in annotations.items():
        if key == _SECCOMP_POD or key.startswith(_SECCOMP_CONTAINER):
            if not _is_seccomp_profile(profile):
                text = f"is {shown(profile)}; must be runtime/default, unconfined or localhost/<relative path>"
                yield invalid(f"{path}.{key}", text)
        elif key.startswith(_APPARMOR):
            container = key.removeprefix(_APPARMOR)
            if container not in _containers(spec):
                yield invalid(f"{path}[{key}]", f"there is no container {shown(container)}")
            if profile not in ("", "runtime/default", "unconfined") and not profile.startswith("localhost/"):
                text = f"is {shown(profile)}; must be runtime/default, unconfined or localhost/<name>"
                yield invalid(f"{path}[{key}]", text)


def _is_seccomp_profile(profile: str) -> bool:
    """Mirrors `ValidateSeccompProfile`."""
    if profile in ("runtime/default", "docker/default", "unconfined"):
        return True
    path = profile.removeprefix("localhost/")
    return path != profile and not path.startswith("/") and ".." not in path.split("/")


def _containers(spec: Json) -> set[str]:
    lists = ("containers", "initContainers", "ephemeralContainers")
    return {container.get("name") or "" for name in lists for container in spec.get(name) or ()}


def _others(
    path: str, old: Mapping[str, str], new: Mapping[str, str], before: Json, after: Json
) -> Iterator[Violation]:
    """The rest of `ValidatePodSpecificAnnotations`."""
    if _MIRROR in new and not after.get("nodeName"):
        yield invalid(f"{path}[{_MIRROR}]", "a mirror pod names its node in spec.nodeName")
    # who has a wrong one may keep it, or write another
    if not _is_deletion_cost(new.get(_DELETION_COST, "0")) and _is_deletion_cost(old.get(_DELETION_COST, "0")):
        text = f"is {shown(new[_DELETION_COST])}; must be a whole number of 32 bits"
        yield invalid(f"{path}[{_DELETION_COST}]", text)
    if new.get(TOLERATIONS):
        yield from annotated_tolerations(path, new[TOLERATIONS], compares=compares_tolerations(before))


def _is_deletion_cost(text: str) -> bool:
    """Mirrors `GetDeletionCostFromPodAnnotations`: no plus sign, and no zero before other digits."""
    match = _DELETION_COST_FORM.fullmatch(text)
    if match is None or (text.startswith("0") and text != "0"):
        return False
    return -(2**31) <= int(match[1] + match[2]) < 2**31

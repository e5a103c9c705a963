"""What of a pod's metadata can be changed, and whether what is new there is well formed.

Mirrors `ValidateObjectMetaAccessorUpdate` and `ValidateObjectMetaAccessor` (k8s.io/apimachinery/pkg/api/validation),
after what `rest.BeforeUpdate` puts back by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from controller.core.kubernetes.names import (
    DNS_LABEL_FORM,
    DNS_SUBDOMAIN_FORM,
    LABEL_KEY_FORM,
    LABEL_VALUE_FORM,
    is_dns_label,
    is_dns_subdomain,
    is_label_key,
    is_label_value,
)
from controller.core.pod_update import pod_annotations
from controller.core.pod_update.equality import Json
from controller.core.pod_update.violation import Cause, Rule, Violation, invalid, shown

_OWNERS_BY_INDEX: Final = 37
_STANDARD_FINALIZERS: Final = ("kubernetes", "orphan", "foregroundDeletion")


def violations(old: Json, new: Json, *, is_same_spec: bool, minor: int) -> Iterator[Violation]:
    """Return what the apiserver would refuse in the metadata of an update of a pod."""
    yield from of_object(old, new, minor=minor)
    yield from generated_name(new)
    yield from pod_annotations.violations(old, new, is_same_spec=is_same_spec)


def of_object(old: Json, new: Json, *, minor: int) -> Iterator[Violation]:
    """Return what it would refuse in the metadata of any object with a namespace.

    Not looked at: its annotations, and `generateName`, for which kinds have rules of their own.
    """
    before, after = old.get("metadata") or {}, new.get("metadata") or {}
    yield from _identity(before, after)
    yield from _names(after)
    if (after.get("labels") or {}) != (before.get("labels") or {}):
        yield from labels("metadata.labels", after.get("labels") or {})
    if (after.get("ownerReferences") or []) != (before.get("ownerReferences") or []):
        owners = after.get("ownerReferences") or []
        yield from _owners(owners, is_indexed=minor >= _OWNERS_BY_INDEX)
    if (after.get("finalizers") or []) != (before.get("finalizers") or []):
        yield from _finalizers(before, after)


def _identity(old: Json, new: Json) -> Iterator[Violation]:
    for name in ("name", "namespace"):
        yield from _immutable(name, old.get(name) or "", new.get(name) or "")
    # what the apiserver puts back when it is missing
    yield from _immutable("uid", old.get("uid") or "", new.get("uid") or old.get("uid") or "")
    if not old.get("creationTimestamp"):
        yield from _immutable("creationTimestamp", None, new.get("creationTimestamp"))
    if not old.get("deletionTimestamp"):
        yield from _immutable("deletionTimestamp", None, new.get("deletionTimestamp"))
    was, now = old.get("deletionGracePeriodSeconds"), new.get("deletionGracePeriodSeconds")
    yield from _immutable("deletionGracePeriodSeconds", was, was if now is None else now)


def _immutable(name: str, was: Any, now: Any) -> Iterator[Violation]:
    if was != now:
        text = f"was {shown(was)} and would be {shown(now)}; it cannot be changed"
        yield Violation(f"metadata.{name}", Cause.INVALID, Rule.IDENTITY_STAYS, text)


def generated_name(new: Json) -> Iterator[Violation]:
    """Return the fault of a prefix for names, where it has to be the beginning of one."""
    prefix = (new.get("metadata") or {}).get("generateName") or ""
    if prefix and not is_dns_subdomain(_masked(prefix)):
        yield invalid("metadata.generateName", f"is {shown(prefix)}; must be the beginning of a pod's name")


def _names(new: Json) -> Iterator[Violation]:
    for name, holds, form in (
        ("name", is_dns_subdomain, DNS_SUBDOMAIN_FORM),
        ("namespace", is_dns_label, DNS_LABEL_FORM),
    ):
        value = new.get(name) or ""
        if not value:
            yield invalid(f"metadata.{name}", "is empty; it must be what it was", Cause.REQUIRED)
        elif not holds(value):
            yield invalid(f"metadata.{name}", f"is {shown(value)}; must be {form}")


def _masked(prefix: str) -> str:
    """A dash at the end is fine where more will follow. Mirrors `maskTrailingDash`, which takes two characters."""
    return f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix


def labels(path: str, held: Json) -> Iterator[Violation]:
    """Return the faults of labels at a path. Mirrors `ValidateLabels`."""
    for key, value in held.items():
        if not is_label_key(key):
            yield invalid(path, f"the key {shown(key)} is none; must be {LABEL_KEY_FORM}")
        if not is_label_value(value or ""):
            yield invalid(path, f"{key} is {shown(value)}; must be {LABEL_VALUE_FORM}")


def _owners(owners: list[Json], *, is_indexed: bool) -> Iterator[Violation]:
    """Mirrors `ValidateOwnerReferences`. Its paths say which owner it is, and that a field is missing, since 1.37."""
    path, missing = "metadata.ownerReferences", Cause.REQUIRED if is_indexed else Cause.INVALID
    for index, owner in enumerate(owners):
        of_it = f"{path}[{index}]" if is_indexed else path
        version = owner.get("apiVersion") or ""
        for name in ("kind", "name", "uid"):
            if not owner.get(name):
                yield invalid(f"{of_it}.{name}", f"of owner {index} is empty; an owner needs it", missing)
        if version.count("/") > 1 or version.endswith("/") or not version:
            text = f"of owner {index} is {shown(version)}; must be <group>/<version> or <version>"
            yield invalid(f"{of_it}.apiVersion", text, Cause.INVALID if version else missing)
        if (version.removeprefix("/"), owner.get("kind")) == ("v1", "Event"):
            yield invalid(of_it, f"owner {index} is an Event, which cannot own anything")
    controllers = [f"{owner.get('kind')}/{owner.get('name')}" for owner in owners if owner.get("controller")]
    if len(controllers) > 1:
        yield invalid(path, f"has the controllers {', '.join(controllers)}; only one owner can be the controller")


def _finalizers(old: Json, new: Json) -> Iterator[Violation]:
    """Mirrors `ValidateFinalizers`, `validateKubeFinalizerName` and `ValidateNoNewFinalizers`."""
    path, finalizers = "metadata.finalizers", new.get("finalizers") or []
    for index, name in enumerate(finalizers):
        if not is_label_key(name or ""):
            yield invalid(path, f"{shown(name)} is no finalizer; must be {LABEL_KEY_FORM}")
        if "/" not in (name or "") and name not in _STANDARD_FINALIZERS:
            text = f"is {shown(name)}; must have a prefix, such as example.com/{name or 'name'}"
            yield invalid(f"{path}[{index}]", text)
    if {"orphan", "foregroundDeletion"} <= {*finalizers}:
        yield invalid(path, "has both orphan and foregroundDeletion; use one")
    added = [name for name in finalizers if name not in (old.get("finalizers") or ())]
    if added and old.get("deletionTimestamp"):
        text = f"{shown(added)} is new; a pod that is being deleted gets no more finalizers"
        yield Violation(path, Cause.FORBIDDEN, Rule.NO_NEW_FINALIZERS, text)

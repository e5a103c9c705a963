"""CEL of the admission policies of a kind: how what its paths lead to is written in expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from controller.core.keys import ADMITTED_JOB, GROUP, STAMPED_ANNOTATIONS, STAMPED_LABELS, USER, WRITTEN_AT_CREATE
from controller.core.kubernetes.pointers import pointer
from controller.core.workload_kinds.kinds import Path, PodSetPaths

ADMIT_PODS: Final = "admit-pods"
"""The verb on `workloadkinds` of accounts whose pods keep the stamps of their templates: controllers of kinds."""
MAY_ADMIT_PODS: Final = f"authorizer.group('{GROUP}').resource('workloadkinds').check('{ADMIT_PODS}').allowed()"
LABELS: Final = "[" + ", ".join(f"'{key}'" for key in STAMPED_LABELS) + "]"
ANNOTATIONS: Final = "[" + ", ".join(f"'{key}'" for key in STAMPED_ANNOTATIONS if key not in WRITTEN_AT_CREATE) + "]"

OfTemplate = Callable[[str], str]
"""From the expression of a template, an optional, to one of what holds of it."""
OfTwo = Callable[[str, str], str]


def at(root: str, path: Path) -> str:
    """Write what is at a path, as an optional."""
    return root + "".join(f".?{key}" for key in path)


def is_true(root: str, path: Path) -> str:
    """Write that a boolean is true."""
    return f"{at(root, path)}.orValue(false)"


def set_true(path: Path) -> str:
    """Write the JSON patches that make a boolean true, also where what holds it is missing."""
    found = _patch(path, "true")
    for depth in range(len(path) - 1, 0, -1):
        holder, value = path[:depth], "true"
        for key in reversed(path[depth:]):
            value = f"{{'{key}': {value}}}"
        found = f"({at('object', holder)}.hasValue() ? {found} : {_patch(holder, value)})"
    return found


def _patch(path: Path, value: str) -> str:
    return f"[JSONPatch{{op: 'add', path: '{pointer(path)}', value: {value}}}]"


def every_template(paths: PodSetPaths, root: str, holds: OfTemplate) -> str:
    """Write that something holds of each template."""
    if not paths.each:
        return f"({holds(at(root, paths.template))})"
    entry = "e" if paths.name_path else "m[k]"
    return _each(paths, root, f"({holds(at(entry, paths.template))})")


def is_unchanged(paths: PodSetPaths, same: OfTwo) -> str:
    """Write that each template is like that of its pod set before; a pod set that is new is like one without template.

    `same` gets the new template and the old one.
    """
    if not paths.each:
        return f"({same(at('object', paths.template), at('oldObject', paths.template))})"
    if not paths.name_path:
        old = at(f"{at('oldObject', paths.each)}[?k]", paths.template)
        return _each(paths, "object", f"({same(at('m[k]', paths.template), old)})")
    olds, new = f"{at('oldObject', paths.each)}.orValue([])", at("e", paths.template)
    is_it = f"{at('o', paths.name_path)} == {at('e', paths.name_path)}"
    is_like = f"{olds}.exists(o, {is_it} && {same(new, at('o', paths.template))})"
    is_new = f"!{olds}.exists(o, {is_it}) && {same(new, 'optional.none()')}"
    return _each(paths, "object", f"({is_like} || {is_new})")


def does_not_grow(paths: PodSetPaths) -> str:
    """Write that no pod set has more pods than before, and that there is none that was not there."""
    if not paths.each:
        return _at_most(_count(paths, "object"), _count(paths, "oldObject"))
    if not paths.name_path:
        old = f"{at('oldObject', paths.each)}.orValue({{}})"
        is_known = f"k in {old} && {_at_most(_count(paths, 'm[k]'), _count(paths, old + '[k]'))}"
        return _each(paths, "object", f"({is_known})")
    olds = f"{at('oldObject', paths.each)}.orValue([])"
    is_it = f"{at('o', paths.name_path)} == {at('e', paths.name_path)}"
    is_small = _at_most(_count(paths, "e"), _count(paths, "o"))
    alike = f"{at('x', paths.name_path)} == {at('e', paths.name_path)}"
    is_only = f"{at('object', paths.each)}.orValue([]).filter(x, {alike}).size() == 1"
    return _each(paths, "object", f"({is_only} && {olds}.exists(o, {is_it} && {is_small}))")


def _at_most(new: str, old: str) -> str:
    return f"{new} <= {old}"


def _count(paths: PodSetPaths, root: str) -> str:
    return " * ".join(f"int({at(root, path)}.orValue(1))" for path in paths.counts) or "1"


def _each(paths: PodSetPaths, root: str, holds: str) -> str:
    entries = at(root, paths.each)
    if paths.name_path:
        return f"{entries}.orValue([]).all(e, {holds})"
    return f"[{entries}.orValue({{}})].all(m, m.all(k, {holds}))"


def has_no_stamps(template: str) -> str:
    """Write that a template, an optional, has no stamp of ours."""
    return (
        f"!{LABELS}.exists(key, {template}.?metadata.?labels[?key].hasValue())"
        f" && !{ANNOTATIONS}.exists(key, {template}.?metadata.?annotations[?key].hasValue())"
    )


def has_same_user(new: str, old: str) -> str:
    """Write that an object, or a template, an optional, names the same user as another, or none."""
    return f"(!{_user(new)}.hasValue() || {_user(new)} == {_user(old)})"


def has_no_user(template: str) -> str:
    """Write that an object, or a template, an optional, names no user."""
    return f"!{_user(template)}.hasValue()"


def _user(template: str) -> str:
    return f"{template}.?metadata.?annotations[?'{USER}']"


def is_admitted_with(owners: str, template: str) -> str:
    """Write that a template's stamps are those of one of these objects; `owners` is a list of uids."""
    note = f"{template}.?metadata.?annotations[?'{ADMITTED_JOB}'].orValue('')"
    return f"{owners}.exists(uid, {note}.startsWith(uid + '/'))"


def has_same_stamps(new: str, old: str) -> str:
    """Write that a template has the stamps of another."""
    return (
        f"{LABELS}.all(key, {new}.?metadata.?labels[?key] == {old}.?metadata.?labels[?key])"
        f" && {ANNOTATIONS}.all(key, {new}.?metadata.?annotations[?key] == {old}.?metadata.?annotations[?key])"
    )

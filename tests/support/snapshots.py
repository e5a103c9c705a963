"""Snapshots as tests need them."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from controller.core.snapshot import Memo, Snapshot


def changed(snapshot: Snapshot, **changes: Any) -> Snapshot:
    """The same but for these fields of its groups: `asked=None` is one of `waiting`, `in_tree=...` of `usage`."""
    groups: dict[str, dict[str, Any]] = {}
    for name, value in changes.items():
        groups.setdefault(_group_of(snapshot, name), {})[name] = value
    return replace(snapshot, **{name: replace(getattr(snapshot, name), **those) for name, those in groups.items()})


def _group_of(snapshot: Snapshot, name: str) -> str:
    groups = (one.name for one in fields(snapshot) if one.name != "now")
    return next(group for group in groups if name in {one.name for one in fields(getattr(snapshot, group))})


def without_memory(snapshot: Snapshot) -> Snapshot:
    """The same without what earlier decisions found, and with a look at everybody."""
    return replace(changed(snapshot, asked=None, preempts_in=None), memo=Memo())

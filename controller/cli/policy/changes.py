"""Two documents side by side: what differs, by path."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson
import yaml

from controller.kube.fields import member

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9._/-]*")
_WORDS_OF_YAML = frozenset({"true", "false", "null", "yes", "no", "on", "off"})


class _Nothing:
    """Stands where a document has no value at all, which is not null."""

    def __repr__(self) -> str:
        return "nothing"


NOTHING: Final = _Nothing()


@dataclass(frozen=True, slots=True)
class Change:
    """One place, and what stood and stands there; NOTHING where there is no value."""

    path: str
    before: Any
    after: Any

    def document(self) -> dict[str, Any]:
        """As JSON: what there was not is left out."""
        values = {"before": self.before, "after": self.after}
        return {"path": self.path, **{name: value for name, value in values.items() if value is not NOTHING}}

    def __str__(self) -> str:
        if self.before is NOTHING:
            return f"{self.path}: + {shown(self.after)}"
        if self.after is NOTHING:
            return f"{self.path}: - {shown(self.before)}"
        return f"{self.path}: {shown(self.before)} -> {shown(self.after)}"


def shown(value: Any) -> str:
    """Return a value on one line: text as it is, the rest as YAML people would write it."""
    if value is NOTHING:
        return "nothing"
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) and value.lower() not in _WORDS_OF_YAML else repr(value)
    text = yaml.safe_dump(value, default_flow_style=True, width=1_000_000, sort_keys=False, allow_unicode=True)
    return text.removesuffix("\n").removesuffix("\n...")


def changes(before: Any, after: Any, path: str = "") -> Iterator[Change]:
    """Yield what differs, in the order of the fields. What a list got at its end is told entry by entry."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in dict.fromkeys((*before, *after)):
            yield from changes(before.get(name, NOTHING), after.get(name, NOTHING), member(path, name))
    elif before is NOTHING and isinstance(after, Mapping) and after:
        for name, value in after.items():
            yield from changes(NOTHING, value, member(path, name))
    elif isinstance(before, list) and isinstance(after, list) and after[: len(before)] == before:
        for index in range(len(before), len(after)):
            yield Change(f"{path}[{index}]", NOTHING, after[index])
    elif before is NOTHING and isinstance(after, list) and after:
        for index, value in enumerate(after):
            yield Change(f"{path}[{index}]", NOTHING, value)
    elif before != after:
        yield Change(path, before, after)


def as_json(document: object) -> bytes:
    """Return JSON for people and programs."""
    return orjson.dumps(document, option=orjson.OPT_INDENT_2)

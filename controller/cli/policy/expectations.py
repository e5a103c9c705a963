"""Whether an answer is the one that was expected; where not, place by place. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from controller.cli.policy.changes import NOTHING, shown
from controller.cli.policy.suite import Expectation
from controller.cli.policy.trace import Result, Trace
from controller.core.keys import POLICIES
from controller.kube import fields
from controller.kube.fields import member

_EMPTY: Final[tuple[Any, ...]] = (None, {}, [])
_STEP = re.compile(r"\.?([^.\[\]]+)|\[([^\]]+)\]")


@dataclass(frozen=True, slots=True)
class Miss:
    """One place where the answer is not as expected; texts for people."""

    path: str
    expected: str
    got: str

    def __str__(self) -> str:
        return f"{self.path}: expected {self.expected}, got {self.got}"


def misses(expected: Expectation, trace: Trace) -> list[Miss]:
    """Return what is not as expected. With another result than expected the rest says nothing."""
    if trace.result != expected.result:
        why = f": {trace.denial}" if trace.denial is not None else ""
        return [Miss("result", expected.result, f"{trace.result}{why}")]
    if trace.result is Result.REFUSED:
        return [*_message(expected, trace)]
    return [
        *(_part(expected.pod, trace.pod, "") if expected.pod else ()),
        *(_part(expected.contains, trace.pod, "", lists_may_hold_more=True) if expected.contains else ()),
        *_absent(expected, trace),
        *_warnings(expected, trace),
        *_policies(expected, trace),
    ]


def _message(expected: Expectation, trace: Trace) -> Iterator[Miss]:
    got = trace.denial or ""
    if expected.message is not None and expected.message not in got:
        yield Miss("message", repr(expected.message), repr(got))


def _part(expected: Any, got: Any, path: str, *, lists_may_hold_more: bool = False) -> Iterator[Miss]:
    """Objects may have more members than expected; lists are compared as a whole, unless they may hold more.

    Nothing, null and what is empty are all the same, also where it is expected.
    """
    if expected in _EMPTY:
        if got is not NOTHING and got not in _EMPTY:
            yield Miss(path, "nothing", shown(got))
    elif isinstance(expected, Mapping) and isinstance(got, Mapping):
        for name, value in expected.items():
            yield from _part(
                value, got.get(name, NOTHING), member(path, str(name)), lists_may_hold_more=lists_may_hold_more
            )
    elif lists_may_hold_more and isinstance(expected, list) and isinstance(got, list):
        for value in expected:
            if not any(_fits(value, one) for one in got):
                yield Miss(path, f"an entry {shown(value)}", shown(got))
    elif type(expected) is not type(got) or expected != got:
        # 1 is not true
        yield Miss(path, shown(expected), shown(got))


def _fits(expected: Any, got: Any) -> bool:
    return not any(_part(expected, got, "", lists_may_hold_more=True))


def _absent(expected: Expectation, trace: Trace) -> Iterator[Miss]:
    for path in expected.absent:
        found = value_at(trace.pod, path)
        if found is not NOTHING and found is not None:
            yield Miss(path, "nothing", shown(found))


def faults_of(expected: Expectation) -> Iterator[str]:
    """Return a line for each field that pods do not have: such an expectation says nothing."""
    for name, part in (("pod", expected.pod), ("contains", expected.contains)):
        yield from fields.faults(part, "V1Pod", name)
    for index, path in enumerate(expected.absent):
        yield from (f"absent[{index}]: {fault}" for fault in fields.faults(_skeleton(path), "V1Pod"))


def _skeleton(path: str) -> Any:
    """Return a document that has nothing but this path."""
    result: Any = None
    for match in reversed(list(_STEP.finditer(path))):
        result = [result] if match[2] and match[2].isdigit() else {match[1] or match[2]: result}
    return result


def value_at(document: Any, path: str) -> Any:
    """Return what stands at a path such as spec.nodeSelector[example.com/pool]; NOTHING when there is nothing."""
    for match in _STEP.finditer(path):
        name = match[1] or match[2]
        if isinstance(document, Mapping) and name in document:
            document = document[name]
        elif isinstance(document, list) and name.isdigit() and int(name) < len(document):
            document = document[int(name)]
        else:
            return NOTHING
    return document


def _warnings(expected: Expectation, trace: Trace) -> Iterator[Miss]:
    if expected.warnings is None:
        return
    for wanted in expected.warnings:
        if not any(wanted in warning for warning in trace.warnings):
            yield Miss("warnings", repr(wanted), _listed(trace.warnings))
    for warning in trace.warnings:
        if not any(wanted in warning for wanted in expected.warnings):
            yield Miss("warnings", "no other", repr(warning))


def _policies(expected: Expectation, trace: Trace) -> Iterator[Miss]:
    noted = ((trace.pod.get("metadata") or {}).get("annotations") or {}).get(POLICIES)
    got = tuple(noted.split(",")) if noted else ()
    if expected.policies is not None and expected.policies != got:
        yield Miss("policies", _listed(expected.policies), _listed(got))


def _listed(texts: tuple[str, ...]) -> str:
    return ", ".join(map(repr, texts)) or "none"

"""The annotation of policies, into which two kinds of steps write."""

from __future__ import annotations

from typing import Any

import pytest

from controller.core.keys import POLICIES
from tests.support.json_patch import patched
from webhook.pods.noted import entries, scheduling_entry, with_entries

Json = dict[str, Any]
A, B = scheduling_entry("a"), scheduling_entry("b")


def a_pod(noted: str | None = None, **more: str) -> Json:
    if noted is None and not more:
        return {"metadata": {}}
    return {"metadata": {"annotations": {**more, **({} if noted is None else {POLICIES: noted})}}}


def noted_of(pod: Json) -> str | None:
    noted: str | None = (pod["metadata"].get("annotations") or {}).get(POLICIES)
    return noted


@pytest.mark.parametrize(
    ("before", "scheduling", "right", "after", "removed"),
    [
        (a_pod(), True, [], None, ""),
        (a_pod(), True, [A], A, ""),
        (a_pod(), False, ["wide"], "wide", ""),
        (a_pod(mine="x"), True, [A, B], f"{A},{B}", ""),
        (a_pod("wide"), True, [A], f"wide,{A}", ""),
        (a_pod(A), False, ["wide", "ns/own"], f"wide,ns/own,{A}", ""),
        (a_pod(f"wide,{A}"), True, [], "wide", A),
        (a_pod(f"wide,{A},{B}"), False, [], f"{A},{B}", "wide"),
        (a_pod(f"{A},wide"), True, [B], f"wide,{B}", A),
        (a_pod(A), True, [], None, A),
        (a_pod(f"{A},{A}"), True, [A], A, ""),
        (a_pod(""), True, [], None, ""),
        (a_pod(f"schedulingpolicy/a,{A}"), True, [A], f"schedulingpolicy/a,{A}", ""),
    ],
)
def test_each_kind_keeps_its_own_entries(
    before: Json, scheduling: bool, right: list[str], after: str | None, removed: str
) -> None:
    operations, warnings = with_entries(before, right, scheduling=scheduling)
    result = patched(before, operations)
    assert noted_of(result) == after
    assert [text.split(" from ")[0] for text in warnings] == ([f"removed {removed}"] if removed else [])
    assert with_entries(result, right, scheduling=scheduling) == ((), ())
    assert entries(result, scheduling=scheduling) == right


def test_annotations_of_others_stay() -> None:
    pod = a_pod(A, mine="x")
    operations, _ = with_entries(pod, [], scheduling=True)
    assert patched(pod, operations)["metadata"]["annotations"] == {"mine": "x"}


def test_a_long_annotation_is_read_in_no_time() -> None:
    # by searching the one list for each name of the other this would take minutes
    names = [str(number) for number in range(100_000)]
    _, warnings = with_entries(a_pod(",".join([*names, "more"])), [], scheduling=False, known=names)
    assert [text.split(" from ")[0] for text in warnings] == ["removed more"]

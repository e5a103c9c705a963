"""The patch that lets an admitted Job have more pods: it says what it should, and the apiserver takes it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from controller.core.gate.job_growth import read_count, widening_patch
from controller.core.gate.job_release import release_job_patch, restore_patch
from controller.core.job_update import may_change
from controller.core.keys import ADMITTED_BY, RELEASE_ATTEMPT, WANTED_PARALLELISM
from tests.support.builders import a_flavor
from tests.support.job_documents import a_job_document, a_released_job, edited, pods_of
from tests.support.json_patch import PatchFailed, patched
from tests.support.pod_documents import ADMISSION

SPOT = a_flavor("spot", labels={"pool": "spot"})
MANY = {"parallelism": 2, "completions": 9}
STOPPED = {"status": {"conditions": [{"type": "Suspended", "status": "True"}]}}


def wanting(number: int, **spec: Any) -> dict[str, Any]:
    """An admitted Job with two pods of which so many are wanted."""
    released = a_released_job(a_job_document(spec={**MANY, **spec}), [SPOT])
    released["metadata"]["annotations"][WANTED_PARALLELISM] = str(number)
    return released


@pytest.mark.parametrize("mode", ["NonIndexed", "Indexed"])
@pytest.mark.parametrize(("count", "parallelism", "note"), [(3, 5, None), (1, 3, "5")])
def test_more_pods_are_one_legal_patch(mode: str, count: int, parallelism: int, note: str | None) -> None:
    before = wanting(5, completionMode=mode)
    after = patched(before, widening_patch(pods_of(before), count, by="next-leader"))
    assert may_change(before, after) == ()
    assert after["spec"] == {**before["spec"], "parallelism": parallelism}
    notes = after["metadata"]["annotations"]
    assert (notes.get(WANTED_PARALLELISM), notes[ADMITTED_BY]) == (note, "next-leader")


@pytest.mark.parametrize(("count", "number", "note"), [(3, 5, None), (1, 3, "5")])
@pytest.mark.parametrize("succeeded", [0, 1])
def test_indexes_grow_with_the_pods(count: int, number: int, note: str | None, succeeded: int) -> None:
    before = wanting(5, completionMode="Indexed", completions=2)
    before["status"] = {"succeeded": succeeded}
    assert (pods_of(before).count, pods_of(before).more) == (2 - succeeded, 3)
    after = patched(before, widening_patch(pods_of(before), count, by="leader"))
    assert may_change(before, after) == ()
    assert (after["spec"]["parallelism"], after["spec"]["completions"]) == (number, number)
    assert after["metadata"]["annotations"].get(WANTED_PARALLELISM) == note
    assert pods_of(after).count == 2 - succeeded + count


def test_indexes_that_are_wanted_come_back_too() -> None:
    stopped = {**edited(wanting(5, completionMode="Indexed", completions=2), suspend=True), **STOPPED}
    back = patched(stopped, restore_patch(stopped))
    assert may_change(stopped, back) == ()
    assert (back["spec"]["parallelism"], back["spec"]["completions"]) == (5, 5)


@pytest.mark.parametrize(
    "edit",
    [
        lambda job: job["metadata"].update(generation=9),
        lambda job: job["metadata"].update(uid="another"),
        lambda job: job["spec"].update(suspend=True),
        lambda job: job["metadata"]["annotations"].update({WANTED_PARALLELISM: "4"}),
        lambda job: job["metadata"]["annotations"].pop(WANTED_PARALLELISM),
        lambda job: job["metadata"]["annotations"].update({RELEASE_ATTEMPT: "1"}),
    ],
)
def test_a_job_that_is_another_by_now_is_not_widened(edit: Any) -> None:
    before = wanting(5)
    patch = widening_patch(pods_of(before), 3, by="leader")
    changed = copy.deepcopy(before)
    edit(changed)
    with pytest.raises(PatchFailed):
        patched(changed, patch)


def test_only_pods_that_completions_leave_are_wanted() -> None:
    assert (pods_of(wanting(5)).count, pods_of(wanting(5)).more) == (2, 3)
    assert pods_of(wanting(5, completions=3)).more == 1
    assert pods_of(wanting(5, completions=2)).more == 0
    assert pods_of(wanting(1)).more == 0
    assert pods_of(wanting(100_000, completions=None)).more == 0


def test_a_job_that_waits_is_what_its_user_wrote() -> None:
    document = a_job_document(spec=MANY, metadata={"annotations": {WANTED_PARALLELISM: "5"}})
    assert (pods_of(document).count, pods_of(document).parallelism, pods_of(document).more) == (2, 2, 0)


@pytest.mark.parametrize("spec", [MANY, {"parallelism": 4, "completions": 3}, {"parallelism": 3, "completions": None}])
def test_a_release_with_fewer_pods_notes_what_is_wanted(spec: dict[str, Any]) -> None:
    before = a_job_document(spec=spec)
    after = edited(patched(before, release_job_patch(pods_of(before), [SPOT], ADMISSION, count=1)))
    assert may_change(before, after) == ()
    assert after["spec"]["parallelism"] == 1
    assert after["metadata"]["annotations"][WANTED_PARALLELISM] == str(spec["parallelism"])
    assert (pods_of(after).count, pods_of(after).more) == (1, pods_of(before).count - 1)


def test_what_is_wanted_comes_back_with_the_template() -> None:
    before = a_job_document(spec={"parallelism": 4, "completions": 3})
    released = edited(patched(before, release_job_patch(pods_of(before), [SPOT], ADMISSION, count=2)))
    stopped = {**edited(released, suspend=True), **STOPPED}
    back = patched(stopped, restore_patch(stopped))
    assert may_change(stopped, back) == ()
    assert back["spec"]["parallelism"] == 4
    assert WANTED_PARALLELISM not in back["metadata"]["annotations"]


def test_a_wish_that_is_less_by_now_stays_away() -> None:
    stopped = {**edited(wanting(1), suspend=True), **STOPPED}
    assert patched(stopped, restore_patch(stopped))["spec"]["parallelism"] == 2


@pytest.mark.parametrize("text", ["", "0", "05", "-1", "1.5", "five", "12345678901", "\u0665"])
def test_what_is_no_number_of_pods_is_none(text: str) -> None:
    assert read_count(text) == 0

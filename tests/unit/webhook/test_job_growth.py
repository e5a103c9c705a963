"""What the webhook makes of updates that change the parallelism of an admitted Job."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from controller.core.keys import BREAK_GLASS, CLUSTER_QUEUE, ORIGINAL_TEMPLATE, QUEUE_NAME, WANTED_PARALLELISM
from tests.support.json_patch import patched
from tests.support.worlds import TRUSTED, EmptyWorld
from webhook.checks.templates import check_owner
from webhook.reviews.admission import Answer
from webhook.reviews.templates import TemplateRequest, read_template
from webhook.steps.kueue_labels import mutate_owner

Json = dict[str, Any]
OF_ADMITTED = {
    "labels": {QUEUE_NAME: "main", CLUSTER_QUEUE: "team"},
    "annotations": {ORIGINAL_TEMPLATE: "{}"},
}


def a_job(parallelism: int, *, wanted: str | None = None, metadata: Json | None = None, **spec: Any) -> Json:
    """An admitted Job with so many pods at a time, unless its metadata are given."""
    metadata = OF_ADMITTED if metadata is None else metadata
    notes = {**metadata.get("annotations", {}), **({} if wanted is None else {WANTED_PARALLELISM: wanted})}
    template = {"metadata": {"labels": {QUEUE_NAME: "main"}}, "spec": {}}
    spec = {"parallelism": parallelism, "suspend": False, "template": template, **spec}
    return {"metadata": {**metadata, "annotations": notes}, "spec": spec}


def an_indexed_job(parallelism: int, *, completions: int | None = None, **fields: Any) -> Json:
    """The same with indexes, as many completions unless given."""
    completions = parallelism if completions is None else completions
    return a_job(parallelism, completions=completions, completionMode="Indexed", **fields)


def asked(old: Json, new: Json, *, user: str = "ann", groups: tuple[str, ...] = (), part: str = "") -> TemplateRequest:
    request = {
        "uid": "1",
        "operation": "UPDATE",
        "namespace": "ns",
        "resource": {"group": "batch", "resource": "jobs"},
        "subResource": part,
        "userInfo": {"username": user, "groups": list(groups)},
        "object": new,
        "oldObject": old,
    }
    return read_template(
        orjson.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})
    )


def sent(old: Json, new: Json, **by: Any) -> tuple[Json, Answer]:
    """The Job after the step, which changes nothing of that when it is asked again; and its answer."""
    answer = mutate_owner(asked(old, new, **by), EmptyWorld())
    after = patched(new, list(answer.operations))
    assert patched(after, list(mutate_owner(asked(old, after, **by), EmptyWorld()).operations)) == after
    return after, answer


def refusal(old: Json, new: Json, **by: Any) -> str:
    return check_owner(asked(old, new, **by), EmptyWorld()).denial or ""


def test_more_pods_are_a_wish_and_people_hear_of_it() -> None:
    old = a_job(2)
    after, answer = sent(old, a_job(5))
    assert after == a_job(2, wanted="5")
    assert refusal(old, after) == ""
    assert answer.warnings == (
        "spec.parallelism stays 2 until queue 'main' has quota and room for 3 more, which the Job waits for; the "
        "annotation penstock.dev/wanted-parallelism notes 5",
    )


@pytest.mark.parametrize(
    ("old", "new", "after"),
    [
        (a_job(2, wanted="5"), a_job(5, wanted="5"), a_job(2, wanted="5")),
        (a_job(2, wanted="5"), a_job(4, wanted="5"), a_job(2, wanted="4")),
        (a_job(2, wanted="5"), a_job(1, wanted="5"), a_job(1)),
        (a_job(2, wanted="5"), a_job(2), a_job(2)),
        (a_job(2, wanted="5"), a_job(2, wanted="5", backoffLimit=1), a_job(2, wanted="5", backoffLimit=1)),
        (a_job(2), a_job(1), a_job(1)),
        (a_job(2, wanted="5"), a_job(7, wanted="5", suspend=True), a_job(7, suspend=True)),
        (a_job(2, wanted="5"), a_job(2, wanted="5", suspend=True), a_job(2, wanted="5", suspend=True)),
        (an_indexed_job(2), an_indexed_job(5), an_indexed_job(2, wanted="5")),
        (an_indexed_job(2, wanted="5"), an_indexed_job(1, wanted="5"), an_indexed_job(1)),
        (
            an_indexed_job(2, completions=9),
            an_indexed_job(5, completions=9),
            an_indexed_job(2, completions=9, wanted="5"),
        ),
    ],
    ids=[
        *("again", "less", "fewer", "withdrawn", "else", "nothing", "suspended", "only suspended"),
        *("indexed", "indexed fewer", "more indexes"),
    ],
)
def test_what_is_wanted_is_what_was_said_last(old: Json, new: Json, after: Json) -> None:
    assert sent(old, new)[0] == after
    assert refusal(old, after) == ""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (a_job(2, completions=9), a_job(3, completions=10)),
        (an_indexed_job(2, completions=9), an_indexed_job(3, completions=3)),
        (an_indexed_job(2), an_indexed_job(3, completions=2)),
        (an_indexed_job(9, completions=2), an_indexed_job(9)),
        (a_job(2), a_job(100_000)),
    ],
    ids=["with completions", "of other indexes", "without completions", "only completions", "too many"],
)
def test_what_cannot_be_a_wish_is_refused(old: Json, new: Json) -> None:
    assert sent(old, new)[0] == new
    name = "parallelism" if new["spec"]["parallelism"] > 2 == old["spec"]["parallelism"] else "completions"
    assert refusal(old, new).startswith(f"no-growth: spec.{name}: would grow from 2 to ")


def test_people_hear_that_indexes_stay_too() -> None:
    (warning,) = sent(an_indexed_job(2), an_indexed_job(5))[1].warnings
    assert warning.startswith(
        "spec.parallelism and spec.completions stay 2 until queue 'main' has quota and room for 3"
    )


@pytest.mark.parametrize("by", [{"user": TRUSTED}, {"groups": (BREAK_GLASS,)}], ids=["controller", "break-glass"])
def test_who_is_trusted_raises_it_at_once(by: Json) -> None:
    assert sent(a_job(2), a_job(5), **by)[0] == a_job(5)


def test_a_job_that_waits_or_another_runs_has_what_it_says() -> None:
    waits = {"labels": {QUEUE_NAME: "main"}}
    new = a_job(5, metadata=waits, suspend=True)
    assert sent(a_job(2, metadata=waits, suspend=True), new)[0] == new
    elsewhere: Json = {"managedBy": "example.com/x"}
    assert sent(a_job(2, **elsewhere), a_job(5, **elsewhere))[0] == a_job(5, **elsewhere)


@pytest.mark.parametrize("part", ["", "status"])
def test_what_is_no_number_is_no_wish(part: str) -> None:
    old = a_job(2)
    assert refusal(old, a_job(2, wanted="4"), part=part) == ""
    assert refusal(old, a_job(2, wanted="x"), part=part) == (
        "no-growth: metadata.annotations[penstock.dev/wanted-parallelism]: is 'x', which is no number of pods; "
        "write one from 1 to 99999, or remove it"
    )
    waits = {"labels": {QUEUE_NAME: "main"}}
    said = refusal(a_job(2, metadata=waits), a_job(2, metadata=waits, wanted="4"), part=part)
    assert said.endswith("only an admitted Job has this; remove it, and set spec.parallelism")

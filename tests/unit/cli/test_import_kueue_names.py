"""`penstock import kueue`: flavors and queues that are named and not among the files."""

from __future__ import annotations

from typing import Any

from tests.support.kueue_objects import (
    kueue_cohort,
    kueue_flavor,
    kueue_group,
    kueue_object,
    kueue_queue,
    kueue_quota,
)
from tests.unit.cli.test_import_kueue import CPU, convert

SPOT, PODS = kueue_flavor("spot"), kueue_group(("plain", [kueue_quota("pods", 5)]))
TWO = kueue_group(("spot", [kueue_quota("cpu", 8)]), ("nope", [kueue_quota("cpu", 4)]))


def unknown(*documents: Any, options: tuple[str, ...] = ()) -> list[str]:
    """What is told of names that lead nowhere."""
    done = convert(*documents, options=options)
    return [line for line in done.stderr.splitlines() if "among the" in line]


def a_door(queue: str) -> Any:
    return kueue_object("LocalQueue", "main", {"clusterQueue": queue}, namespace="ns")


def test_a_flavor_that_is_not_there_is_told_where_it_is_named() -> None:
    assert unknown(kueue_queue("a", TWO), SPOT) == [
        "Warning: <stdin>: document 1: ClusterQueue a: spec.resourceGroups[0].flavors[1].name: "
        "no ResourceFlavor 'nope' among the files; the queue admits nothing until there is one"
    ]
    assert convert(kueue_queue("a", TWO), SPOT).exit_code == 0
    assert unknown(kueue_queue("a", CPU), SPOT) == []


def test_of_a_cohort_it_is_told_once_and_what_it_means_below() -> None:
    memory = kueue_group(("spot", [kueue_quota("memory", 1)]))
    assert unknown(kueue_cohort("c", CPU, memory)) == [
        "Warning: <stdin>: document 1: Cohort c: spec.resourceGroups[0].flavors[0].name: "
        "no ResourceFlavor 'spot' among the files; no queue below it admits anything until there is one"
    ]


def test_a_flavor_that_is_left_out_on_purpose_is_not_missed() -> None:
    assert unknown(kueue_queue("a", CPU, PODS), SPOT, kueue_flavor("plain")) == []


def test_a_group_lost_for_a_missing_flavor_is_told_once() -> None:
    (line,) = unknown(kueue_queue("a", CPU, PODS), SPOT, options=("--partial",))
    assert "spec.resourceGroups[1]: ResourceFlavor plain is not among the objects" in line


def test_a_local_queue_of_a_queue_that_is_not_there_is_told() -> None:
    place = "Warning: <stdin>: document 1: LocalQueue ns/main: spec.clusterQueue: "
    assert unknown(a_door("b"), kueue_queue("a", CPU), SPOT) == [
        f"{place}no ClusterQueue 'b' among the files; its pods wait until there is one"
    ]
    assert unknown(a_door("a"), kueue_queue("a", CPU), SPOT) == []
    assert unknown(a_door("c"), kueue_queue("a", CPU, cohortName="c"), SPOT) == [
        f"{place}no ClusterQueue 'c' among the files; "
        "the one that is written of that name was a cohort, and takes no pods"
    ]

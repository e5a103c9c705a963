"""Tables of pods: which rows are sent, in which order, and what groups count."""

from __future__ import annotations

from typing import Any

import pytest
from multidict import MultiDict

from controller.dashboard.pod_table import COLUMNS, MOST_ROWS, Wanted, WrongTable, window
from controller.extension_api.resources import HIDDEN
from controller.visibility.rows import PodRow
from controller.visibility.start_rows import StartRow


def row(name: str, **fields: Any) -> PodRow:
    usual: dict[str, Any] = {
        "namespace": "team-a",
        "state": "Pending",
        "local_queue": "main",
        "cluster_queue": "team-a",
        "owner": "",
        "owner_created": "",
        "group": "",
        "user": "ann",
        "priority": 0,
        "requests": {"cpu": "1"},
        "created": "2026-11-28T12:00:00Z",
        "since": "2026-11-28T12:00:00Z",
    }
    return PodRow(name=name, **{**usual, **fields})


def names(rows: list[PodRow], **wanted: Any) -> list[str]:
    found = window(rows, Wanted(**wanted))
    return [found.rows[key].name for key in found.order]


LINE = [
    row("b", place=1, reason="QuotaExceeded", priority=5),
    row("a", place=2, reason="NoCapacity", user="bob"),
    row("c", state="Running", flavor="spot", node="spot-1"),
]


def test_without_wishes_rows_come_in_the_order_of_their_queues() -> None:
    assert names(LINE) == ["b", "a", "c"]


def test_a_search_looks_into_names_users_nodes_and_reasons() -> None:
    for text, found in (("BOB", ["a"]), ("spot-1", ["c"]), ("quota", ["b"]), ("team-a", ["b", "a", "c"]), ("zzz", [])):
        assert names(LINE, search=text) == found


def test_filters_hold_together() -> None:
    assert names(LINE, filters=(("state", "Pending"), ("user", "bob"))) == ["a"]
    assert names(LINE, filters=(("priority", "5"),)) == ["b"]


def test_sorting_puts_those_without_a_value_last_both_ways() -> None:
    starts = [
        row("late", start=StartRow("t", "", "2026-11-28T13:00:00Z", "")),
        row("nobody knows", start=StartRow("t", unknown="no idea")),
        row("soon", start=StartRow("t", "", "2026-11-28T12:01:00Z", "")),
        row("not forecast"),
    ]
    assert names(starts, sort="start") == ["soon", "late", "nobody knows", "not forecast"]
    assert names(starts, sort="start", is_descending=True) == ["late", "soon", "nobody knows", "not forecast"]


def test_every_column_can_be_sorted_and_grouped_by() -> None:
    for column in COLUMNS:
        assert sorted(names(LINE, sort=column)) == ["a", "b", "c"]
        assert sum(group.pods for group in window(LINE, Wanted(group=column)).groups) == len(LINE)


def test_groups_count_states_the_largest_first_and_send_no_rows() -> None:
    found = window([*LINE, row("d", user="bob", state="Reserved")], Wanted(group="user"))
    assert [(one.value, one.pods, one.pending, one.reserved, one.running) for one in found.groups] == [
        ("ann", 2, 1, 0, 1),
        ("bob", 2, 1, 1, 0),
    ]
    assert (found.order, found.rows) == ((), {})


def test_a_window_has_at_most_its_rows_from_the_offset_on() -> None:
    many = [row(f"p{number:05}") for number in range(10_000)]
    found = window(many, Wanted(offset=400))
    assert (found.total, found.matched, found.offset, len(found.order)) == (10_000, 10_000, 400, MOST_ROWS)
    assert found.order[0] == "team-a/p00400"


def test_a_window_beyond_the_end_shows_the_last_row() -> None:
    assert names(LINE, offset=500) == ["c"]
    assert names([], offset=500) == []


def test_rows_whose_names_are_hidden_stay_apart() -> None:
    hidden = [row(HIDDEN, namespace=HIDDEN, place=number) for number in (1, 2)]
    assert len(window(hidden, Wanted()).rows) == 2


def test_two_rows_of_a_job_stay_apart() -> None:
    found = window([row("train", state="Pending"), row("train", state="Reserved")], Wanted())
    assert [found.rows[key].state for key in found.order] == ["Pending", "Reserved"]


def test_wishes_are_read_from_an_address() -> None:
    query = MultiDict({"search": "x", "sort": "-place", "group": "", "offset": "50"})
    assert Wanted.read(query, ["state:Pending", "owner:Job/a:b"]) == Wanted(
        search="x",
        filters=(("state", "Pending"), ("owner", "Job/a:b")),
        sort="place",
        is_descending=True,
        offset=50,
    )


@pytest.mark.parametrize(
    ("query", "filters", "told"),
    [
        ({"sort": "-size"}, [], "sort=size: there is no such column; there are namespace, name"),
        ({"group": "x"}, [], "group=x: there is no such column"),
        ({"offset": "-1"}, [], "offset=-1: write how many rows"),
        ({"offset": "9" * 30}, [], "offset=9"),
        ({}, [":x"], "filter=:x: write COLUMN:VALUE, such as state:Pending"),
        ({}, ["colour:red"], "filter=colour: there is no such column"),
    ],
)
def test_an_address_that_means_nothing_is_told(query: dict[str, str], filters: list[str], told: str) -> None:
    with pytest.raises(WrongTable) as caught:
        Wanted.read(query, filters)
    assert str(caught.value).startswith(told)

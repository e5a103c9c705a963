"""The database takes each change once, keeps what was seen, and says what is wrong with it."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from msgspec import json
from sqlalchemy import event, inspect, select, text

from controller.history import migrations
from controller.history.finding import find_runs
from controller.history.recorder import Change
from controller.history.run_store import HistoryError
from controller.history.runs import Outcome, Run
from controller.history.schema import charged_to, metadata, runs, samples, waits
from controller.history.store import RUN_COLUMNS, Store, run_of_row
from controller.history.usage_columns import Span
from controller.history.used import Used
from controller.history.wanted import Wanted
from tests.support.histories import CHARGED, a_change, a_run, a_store


def every(store: Store) -> dict[str, Run]:
    joined = runs.join(charged_to, runs.c.charged_to == charged_to.c.id)
    with store.connection() as connection:
        found = connection.execute(select(*RUN_COLUMNS).select_from(joined)).mappings()
        return {row["uid"]: run_of_row(row) for row in found}


def test_what_is_written_twice_is_there_once(store: Store) -> None:
    changes = [a_change(f"pod-{number}", {"QuotaExceeded": 7}, started=5, ended=9) for number in range(1200)]
    store.write(changes)
    before = every(store)
    store.write(changes[:700])
    store.write(changes)
    assert every(store) == before == {one.run.uid: one.run for one in changes}
    with store.connection() as connection:
        assert len(connection.execute(select(waits)).all()) == 1200
        assert len(connection.execute(select(charged_to)).all()) == 1


def test_what_somebody_saw_stays(store: Store) -> None:
    store.write([a_change(started=5, bound=4, ended=9, outcome=Outcome.EVICTED, reason="Preempted", message="for b")])
    store.write([a_change(started=5, ended=9, outcome=Outcome.FAILED)])
    assert every(store)["a"] == a_run(
        started=5, bound=4, ended=9, outcome=Outcome.EVICTED, reason="Preempted", message="for b"
    )


def test_the_first_plan_stays(store: Store) -> None:
    store.write([a_change(planned=70)])
    store.write([a_change(planned=90)])
    store.write([a_change(started=80)])
    assert every(store)["a"] == a_run(started=80, planned=70)


def a_sampled(observer: str, cpu: int, peak: int, samples: int = 2) -> Change:
    return Change(a_run(), {}, Used(samples, {"cpu": cpu, "memory": 9}, {"cpu": peak, "memory": 5}), observer)


def used_of(store: Store) -> Used | None:
    (found,) = find_runs(store, Wanted(Span(0, 1000)), most=9)
    return found.used


def test_samples_of_leaders_add_up_and_count_once(store: Store) -> None:
    store.write([a_change()])
    assert used_of(store) is None
    store.write([a_sampled("one", 40, 30)])
    store.write([a_sampled("one", 60, 30, samples=3)])
    store.write([a_sampled("one", 60, 30, samples=3), a_change("b")])
    store.write([a_sampled("two", 10, 10), a_change("b")])
    (found,) = find_runs(store, Wanted(Span(0, 1000), uid="a"), most=9)
    assert found.used == Used(5, {"cpu": 70, "memory": 18}, {"cpu": 30, "memory": 5})
    store.write([a_change(started=1, ended=50)])
    assert store.expire(100) == 1
    with store.connection() as connection:
        assert connection.execute(select(samples)).all() == []


def test_runs_whose_pods_are_gone_end_when_last_heard_of(store: Store) -> None:
    store.write([a_change("there", started=200), a_change("gone", started=200), a_change("late", started=900)])
    assert store.last_write() == 900
    assert set(store.not_ended()) == {"there", "gone", "late"}
    store.end(["gone", "late"], at=500)
    assert store.not_ended() == ["there"]
    found = every(store)
    assert {uid: (one.ended, one.outcome) for uid, one in found.items()} == {
        "there": (0, Outcome.GOES_ON),
        "gone": (500, Outcome.DELETED),
        "late": (900, Outcome.DELETED),
    }


def test_what_ended_long_ago_is_forgotten(store: Store) -> None:
    store.write([a_change("old", {"Pending": 3}, started=1, ended=50), a_change("new", started=1, ended=150)])
    store.write([a_change("on", started=1)])
    assert store.expire(100) == 1
    assert set(every(store)) == {"new", "on"}
    with store.connection() as connection:
        assert connection.execute(select(waits)).all() == []


def test_a_file_that_was_deleted_is_made_anew(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    store.write([a_change()])
    for path in tmp_path.iterdir():
        path.unlink()
    with pytest.raises(HistoryError, match="no such table"):
        store.write([a_change()])
    assert store.prepare()
    store.write([a_change()])
    assert set(every(store)) == {"a"}


def test_a_full_disk_takes_all_of_a_batch_or_nothing(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    with store.connection() as connection:
        connection.execute(text("PRAGMA journal_mode = DELETE"))
    full = Store(f"{store.engine.url}")
    changes = [a_change(f"pod-{number}", started=1, message="x" * 2000) for number in range(400)]

    def tiny(connection: object, record: object) -> None:
        connection.execute("PRAGMA max_page_count = 40")  # type: ignore[attr-defined] # of SQLite's own module

    event.listen(full.engine, "connect", tiny)
    with pytest.raises(HistoryError, match="full"):
        full.write(changes)
    assert every(store) == {}
    store.write(changes)
    assert len(every(store)) == 400


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("history.db", "cannot be used"),
        ("mysql://somewhere/x", "mysql: is not supported"),
        ("sqlite:////nowhere/at/all/history.db", "unable to open"),
    ],
)
def test_a_url_that_leads_nowhere_is_told(url: str, told: str) -> None:
    with pytest.raises(HistoryError, match=told):
        Store(url).prepare()


def test_clocks_that_differ_make_no_time_negative(store: Store) -> None:
    store.write([a_change(started=100, ended=90)])
    assert every(store)["a"].ended == 100


def test_the_steps_come_to_the_tables(store: Store) -> None:
    with store.connection() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == migrations.newest()
        there = inspect(connection)
        assert set(there.get_table_names()) == {*metadata.tables, "alembic_version"}
        for name, table in metadata.tables.items():
            columns = {one["name"]: bool(one["nullable"]) for one in there.get_columns(name)}
            assert columns == {one.name: bool(one.nullable) for one in table.columns}, name
            assert {one["name"] for one in there.get_indexes(name)} >= {one.name for one in table.indexes}, name


def test_charges_are_read_as_they_were_written(store: Store) -> None:
    labelled = replace(CHARGED, labels=(("app", "x"), ("team", "one")))
    store.write([a_change(), a_change("b", charged_to=labelled)])
    assert {uid: one.charged_to for uid, one in every(store).items()} == {"a": CHARGED, "b": labelled}


def test_charges_of_earlier_versions_go_on(store: Store) -> None:
    """They are found by the digest that they had before there were labels."""
    store.write([a_change()])
    values = ["default", "main", "team-a", "spot", "ann", '{"cpu":2000,"pods":1}', '{"cpu":1000000000}']
    with store.connection() as connection:
        digest = connection.execute(select(charged_to.c.digest)).scalar()
    assert digest == sha256(json.encode(values)).hexdigest()

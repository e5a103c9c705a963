"""Tables of each earlier version come to those of this one, with the runs that are in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import text

from controller.history import migrations
from controller.history.reader import Reader
from controller.history.run_store import HistoryError
from controller.history.store import Store
from controller.history.usage_columns import Span
from controller.history.wanted import Wanted
from tests.support.histories import CHARGED, a_change, a_run

STEPS = Path(migrations.__file__).parent / "steps"
CONFIG = Config()
CONFIG.set_main_option("script_location", str(STEPS))
VERSIONS = [one.revision for one in ScriptDirectory.from_config(CONFIG).walk_revisions()]
CHARGE = """INSERT INTO charged_to VALUES (
    1000, 'digest', 'default', 'main', 'team-a', 'spot', 'ann', '{"cpu":2000,"pods":1}', '{"cpu":1000000000}')"""
RUN = """INSERT INTO runs VALUES (
    1000, 'a', 1000, 'a', '', '', '', 0, '', 100, 110, 0, 120, 200, 'Succeeded', '', '', '')"""
WAIT = "INSERT INTO waits VALUES (1000, 'QuotaExceeded', 10)"


def test_the_steps_follow_one_another() -> None:
    assert sorted(VERSIONS, reverse=True) == VERSIONS
    assert VERSIONS[0] == migrations.newest()


def test_tables_of_a_later_version_are_left_alone(store: Store) -> None:
    """As after a rollback: it costs history, and neither the tables nor the controller."""
    with store.connection() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(HistoryError, match="has the version 9999, which only a later Penstock can write"):
        store.prepare()
    with store.connection() as connection:
        assert migrations.version(connection) == "9999"


@pytest.mark.parametrize("version", VERSIONS)
def test_runs_of_an_earlier_version_stay(empty: Store, version: str) -> None:
    with empty.connection() as connection:
        config = Config()
        config.set_main_option("script_location", str(STEPS))
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        for statement in (CHARGE, RUN, WAIT):
            connection.exec_driver_sql(statement)
        command.upgrade(config, version)
    assert not empty.prepare()
    (found,) = Reader(empty).find(Wanted(Span(0, 1000)), most=9)
    run = a_run(admitted=110, started=120, ended=200, outcome=found.run.outcome)
    assert (found.run, found.run.charged_to, found.waited) == (run, CHARGED, {"QuotaExceeded": 10})
    empty.write([a_change("a", charged_to=CHARGED, planned=7), a_change("b", charged_to=CHARGED)])
    later = Reader(empty).find(Wanted(Span(0, 1000)), most=9)
    assert {one.run.uid: one.run.planned for one in later} == {"a": 7, "b": 0}

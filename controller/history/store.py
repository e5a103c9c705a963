"""Runs in a database: `RunStore`, and what is read from it. Every call blocks: it is for a thread, or for a command.

SQLite in one file, or PostgreSQL. What a call raises is a HistoryError, whatever the database says.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from msgspec import json
from sqlalchemy import Connection, Engine, NullPool, RowMapping, case, create_engine, delete, event, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from controller.history import migrations
from controller.history.recorder import Change
from controller.history.run_store import HistoryError
from controller.history.runs import ChargedTo, Outcome, Run, merged
from controller.history.schema import charged_to, runs, samples, waits
from controller.history.used import SAMPLED, Used
from controller.kube.errors import one_line

_BUSY_MILLISECONDS: Final = 5000
_DRIVERS: Final = {"sqlite": "pysqlite", "postgresql": "psycopg"}
_OPTIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    "sqlite": {},
    # one that is slow fails, and is asked again
    "postgresql": {"connect_timeout": 5, "options": "-c statement_timeout=20000 -c lock_timeout=5000"},
}
_AT_ONCE: Final = 500
"""Names in one question: databases have bounds."""


_PLAIN: Final = tuple(one.name for one in fields(Run) if one.name not in ("charged_to", "outcome"))
RUN_COLUMNS: Final = tuple(one for one in (*runs.c, *charged_to.c) if one.name not in ("id", "charged_to", "digest"))
"""What `run_of_row` reads."""


class Store:
    """One database. Raises HistoryError for a URL that is none, or of a database that is not supported."""

    def __init__(self, url: str) -> None:
        try:
            parsed = make_url(url)
        except ArgumentError as error:
            raise HistoryError(f"the URL of the history cannot be used: {one_line(error)}") from None
        backend = parsed.get_backend_name()
        if backend not in _DRIVERS:
            raise HistoryError(f"{backend}: is not supported; use sqlite:////FILE or postgresql://USER@HOST/NAME")
        parsed = parsed.set(drivername=f"{backend}+{_DRIVERS[backend]}")
        # no pool: a file that was deleted and a server that was started anew are found out at the next call
        self.engine: Engine = create_engine(parsed, poolclass=NullPool, connect_args=dict(_OPTIONS[backend]))
        self.name = parsed.render_as_string(hide_password=True)
        if backend == "sqlite":
            event.listen(self.engine, "connect", _set_up_sqlite)

    def check(self) -> None:
        """See that there is a history of this version. Raises HistoryError."""
        file = self.engine.url.database
        if self.engine.dialect.name == "sqlite" and file and not Path(file).exists():
            raise HistoryError(f"{self.name}: there is no such file")  # SQLite would make one
        with self.connection() as connection:
            found = migrations.version(connection)
        if found != migrations.newest():
            has = f"has the version {found}" if found else "has no history"
            raise HistoryError(f"{self.name}: {has}, and this program reads {migrations.newest()}")

    def prepare(self) -> bool:
        """Bring the tables up to date; return whether there is no run in them."""
        with self.connection() as connection:
            found = migrations.version(connection)
            if not migrations.is_known(found):
                raise HistoryError(f"{self.name}: has the version {found}, which only a later Penstock can write")
            migrations.upgrade(connection)
            return connection.execute(select(runs.c.id).limit(1)).first() is None

    def write(self, changes: Sequence[Change]) -> None:
        """Take in changes, all or none. A change that was written before changes nothing."""
        for begin in range(0, len(changes), _AT_ONCE):
            self._write(changes[begin : begin + _AT_ONCE])

    def _write(self, changes: Sequence[Change]) -> None:
        with self.connection() as connection:
            known = _known(connection, [one.run.uid for one in changes])
            rows = [(merged(known[one.run.uid], one.run) if one.run.uid in known else one.run) for one in changes]
            ids = _charged_to_ids(connection, {one.charged_to for one in rows})
            _upsert(connection, runs, ("uid",), [_row(one, ids[one.charged_to]) for one in rows])
            _write_waits(connection, changes)
            _write_used(connection, changes)

    def not_ended(self) -> list[str]:
        """Return the pods of the runs that have not ended, by uid."""
        with self.connection() as connection:
            return list(connection.execute(select(runs.c.uid).where(runs.c.ended == 0)).scalars())

    def end(self, uids: Sequence[str], at: int) -> None:
        """End the runs of these pods, which are gone without that anybody saw it.

        Nobody knows when they ended: `at` is when the history was last written, or when they began, if that is later.
        """
        began = case((runs.c.started > 0, runs.c.started), else_=runs.c.created)
        ended = case((began > at, began), else_=at)
        change = update(runs).where(runs.c.ended == 0).values(ended=ended, outcome=Outcome.DELETED.value)
        with self.connection() as connection:
            for begin in range(0, len(uids), _AT_ONCE):
                connection.execute(change.where(runs.c.uid.in_(uids[begin : begin + _AT_ONCE])))

    def expire(self, before: int) -> int:
        """Delete the runs that ended before this; return how many these were."""
        gone = select(runs.c.id).where(runs.c.ended > 0, runs.c.ended < before)
        with self.connection() as connection:
            for table in (waits, samples):
                connection.execute(delete(table).where(table.c.run.in_(gone)))
            done = connection.execute(delete(runs).where(runs.c.ended > 0, runs.c.ended < before))
            used = select(runs.c.charged_to).distinct()
            connection.execute(delete(charged_to).where(charged_to.c.id.not_in(used)))
            return done.rowcount

    def last_write(self) -> int:
        """Return the latest time that any run has; 0: there is none."""
        with self.connection() as connection:
            times = (runs.c.created, runs.c.admitted, runs.c.bound, runs.c.started, runs.c.ended)
            found = [connection.execute(select(one).order_by(one.desc()).limit(1)).scalar() or 0 for one in times]
            return max(found)

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection in a transaction, which is committed at the end. Raises HistoryError."""
        try:
            with self.engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise HistoryError(f"{self.name}: {_told(error)}") from error


def run_of_row(row: RowMapping | Mapping[str, Any]) -> Run:
    """Return the run that a row of `runs` joined with `charged_to` has."""
    requests = json.decode(row["requests"], type=dict[str, int])
    price = json.decode(row["price"], type=dict[str, int])
    charged = ChargedTo(
        row["namespace"],
        row["local_queue"],
        row["cluster_queue"],
        row["flavor"],
        row["username"],
        tuple(requests.items()),
        tuple(price.items()),
        tuple(json.decode(row["labels"], type=dict[str, str]).items()),
    )
    return Run(charged_to=charged, outcome=Outcome(row["outcome"]), **{name: row[name] for name in _PLAIN})


def _known(connection: Connection, uids: Sequence[str]) -> dict[str, Run]:
    joined = runs.join(charged_to, runs.c.charged_to == charged_to.c.id)
    found = connection.execute(select(*RUN_COLUMNS).select_from(joined).where(runs.c.uid.in_(uids))).mappings()
    return {row["uid"]: run_of_row(row) for row in found}


def _charged_to_ids(connection: Connection, wanted: Collection[ChargedTo]) -> dict[ChargedTo, int]:
    """Return the number of each, making those that are new."""
    by_digest = {_digest(one): one for one in wanted}
    rows = [{**_charged_to_row(one), "digest": digest} for digest, one in by_digest.items()]
    connection.execute(_insert(connection, charged_to).on_conflict_do_nothing(index_elements=["digest"]), rows)
    where = charged_to.c.digest.in_(list(by_digest))
    found = connection.execute(select(charged_to.c.digest, charged_to.c.id).where(where))
    return {by_digest[row.digest]: row.id for row in found}


def _charged_to_row(one: ChargedTo) -> dict[str, Any]:
    return {
        "namespace": one.namespace,
        "local_queue": one.local_queue,
        "cluster_queue": one.cluster_queue,
        "flavor": one.flavor,
        "username": one.user,
        "requests": json.encode(dict(one.requests)).decode(),
        "price": json.encode(dict(one.price)).decode(),
        "labels": json.encode(dict(one.labels)).decode(),
    }


def _digest(one: ChargedTo) -> str:
    values = _charged_to_row(one)
    if not one.labels:
        del values["labels"]  # as before there were any: rows of that time go on
    return sha256(json.encode(list(values.values()))).hexdigest()


def _row(run: Run, charged: int) -> dict[str, Any]:
    plain = {name: getattr(run, name) for name in _PLAIN}
    # clocks of nodes differ: no run is shorter than nothing
    plain["ended"] = run.ended and max(run.ended, run.started)
    return {**plain, "outcome": run.outcome.value, "charged_to": charged}


def _write_waits(connection: Connection, changes: Iterable[Change]) -> None:
    """Write for how long they waited. Who looks now may not have seen all of it: the longer time counts."""
    waited = {one.run.uid: one.waited for one in changes if one.waited}
    if not waited:
        return
    ids = connection.execute(select(runs.c.uid, runs.c.id).where(runs.c.uid.in_(list(waited)))).all()
    uids = {row.id: row.uid for row in ids}
    known = {
        (row.run, row.reason): row.seconds
        for row in connection.execute(select(waits).where(waits.c.run.in_(list(uids))))
    }
    rows = [
        {"run": run, "reason": reason, "seconds": max(seconds, known.get((run, reason), 0))}
        for run, uid in uids.items()
        for reason, seconds in waited[uid].items()
    ]
    _upsert(connection, waits, ("run", "reason"), rows)


def _write_used(connection: Connection, changes: Iterable[Change]) -> None:
    sampled = {one.run.uid: one for one in changes if one.used is not None}
    if not sampled:
        return
    ids = connection.execute(select(runs.c.uid, runs.c.id).where(runs.c.uid.in_(list(sampled)))).all()
    rows = [_used_row(row.id, sampled[row.uid].used or Used(), sampled[row.uid].observer) for row in ids]
    _upsert(connection, samples, ("run", "observer"), rows)


def _used_row(run: int, one: Used, observer: str) -> dict[str, Any]:
    sums = {f"{name}_sum": one.sums.get(name, 0) for name in SAMPLED}
    peaks = {f"{name}_peak": one.peaks.get(name, 0) for name in SAMPLED}
    return {"run": run, "observer": observer, "samples": one.samples, **sums, **peaks}


def _upsert(connection: Connection, table: Any, keys: Sequence[str], rows: Sequence[dict[str, Any]]) -> None:
    statement = _insert(connection, table)
    changed = {name: statement.excluded[name] for name in rows[0] if name not in keys}
    connection.execute(statement.on_conflict_do_update(index_elements=list(keys), set_=changed), rows)


def _insert(connection: Connection, table: Any) -> Any:
    """Both databases have the same way to insert or change, under two names."""
    return (sqlite if connection.dialect.name == "sqlite" else postgresql).insert(table)


def _set_up_sqlite(connection: Any, record: object) -> None:
    del record
    for pragma in (f"busy_timeout = {_BUSY_MILLISECONDS}", "journal_mode = WAL", "synchronous = NORMAL"):
        connection.execute(f"PRAGMA {pragma}")


def _told(error: SQLAlchemyError) -> str:
    """Say what the database says, without the statement and its values."""
    return one_line(getattr(error, "orig", None) or error)

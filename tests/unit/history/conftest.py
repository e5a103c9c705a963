"""Both databases: a file of SQLite, and a PostgreSQL server that is started once for these tests."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from sqlalchemy import text

from controller.history.store import Store
from tests.support.postgresql import PostgreSQL, a_server

_numbers = count()


@pytest.fixture(scope="session")
def server() -> Iterator[PostgreSQL]:
    """A server that is used by all tests of a process; not in pytest's folder, past which nobody but root comes."""
    with TemporaryDirectory(prefix="penstock-postgresql-") as folder, a_server(Path(folder)) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """A database without tables."""
    if request.param == "sqlite":
        return Store(f"sqlite:///{tmp_path / 'history.db'}")
    server: PostgreSQL = request.getfixturevalue("server")
    name = f"history_{next(_numbers)}"
    with Store(server.url).engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    return Store(server.url.replace("/postgres", f"/{name}"))


@pytest.fixture
def store(empty: Store) -> Store:
    """A database with its tables."""
    assert empty.prepare()
    return empty

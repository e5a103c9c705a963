"""Both databases: a file of SQLite, and a PostgreSQL server that is started once for these tests."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import text

from controller.history.store import Store
from tests.support.postgresql import PostgreSQL, a_server

_numbers = count()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgreSQL]:
    """A server that is used by all tests of a process."""
    # nobody, who runs it, has to come past each folder above it
    folder = tmp_path_factory.mktemp("postgresql")
    for one in (folder, *folder.parents[:2]):
        one.chmod(0o755)
    with a_server(folder) as server:
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

"""Bring the tables of a database to the version of this program, from any version before it.

The steps are in `versions`, in the order in which Alembic takes them: each names the one before it.
"""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

_HERE = Path(__file__).parent


def upgrade(connection: Connection) -> None:
    """Take all steps that were not taken yet, in the transaction of this connection."""
    command.upgrade(_config(connection), "head")


def version(connection: Connection) -> str:
    """Return the version of the tables of a database; empty: it has none."""
    return MigrationContext.configure(connection).get_current_revision() or ""


def is_known(version: str) -> bool:
    """Whether this program has a step to a version; empty: a database without tables, which every program knows."""
    return not version or version in {
        one.revision for one in ScriptDirectory.from_config(_config(None)).walk_revisions()
    }


def newest() -> str:
    """Return the version of this program's tables."""
    return ScriptDirectory.from_config(_config(None)).get_current_head() or ""


def _config(connection: Connection | None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(_HERE / "steps"))
    config.attributes["connection"] = connection
    return config

"""The tables. Times are whole seconds since 1970, 0 where something has not happened; so sums over them are exact.

`versions/` beside this has the way from each version of the tables to the next.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, MetaData, String, Table, Text, UniqueConstraint

NAME: Final = 253
"""The longest name in Kubernetes."""
_Key = BigInteger().with_variant(Integer, "sqlite")  # what SQLite numbers by itself

metadata = MetaData()

charged_to = Table(
    "charged_to",
    metadata,
    Column("id", _Key, primary_key=True),
    # a key of all that follows: PostgreSQL cannot make one of texts of any length
    Column("digest", String(64), nullable=False, unique=True),
    Column("namespace", String(NAME), nullable=False),
    Column("local_queue", String(NAME), nullable=False),
    Column("cluster_queue", String(NAME), nullable=False),
    Column("flavor", String(NAME), nullable=False),
    Column("username", Text, nullable=False),
    Column("requests", Text, nullable=False),
    Column("price", Text, nullable=False),
    Column("labels", Text, nullable=False, server_default="{}"),
)
"""Who is charged for what: `requests` and `price` are JSON objects of integers, in the units of the core.

`labels` is a JSON object of texts.
"""

runs = Table(
    "runs",
    metadata,
    Column("id", _Key, primary_key=True),
    Column("uid", String(NAME), nullable=False, unique=True),
    Column("charged_to", _Key, ForeignKey("charged_to.id"), nullable=False),
    Column("name", String(NAME), nullable=False),
    Column("owner_kind", String(NAME), nullable=False),
    Column("owner", String(NAME), nullable=False),
    Column("group", String(NAME), nullable=False),
    Column("priority", BigInteger, nullable=False),
    Column("node", String(NAME), nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("admitted", BigInteger, nullable=False),
    Column("bound", BigInteger, nullable=False),
    Column("started", BigInteger, nullable=False),
    Column("ended", BigInteger, nullable=False),
    Column("outcome", String(16), nullable=False),
    Column("reason", String(64), nullable=False),
    Column("message", Text, nullable=False),
    Column("admitted_by", Text, nullable=False),
    Column("planned", BigInteger, nullable=False, server_default="0"),
    # sums by who is charged need nothing but this index, in its order
    Index("runs_by_charge", "charged_to", "started", "ended"),
    Index("runs_by_creation", "created"),
    Index("runs_by_end", "ended"),
)
"""One row for each pod."""

samples = Table(
    "samples",
    metadata,
    Column("run", _Key, ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
    Column("observer", String(NAME), nullable=False),
    Column("samples", BigInteger, nullable=False),
    Column("cpu_sum", BigInteger, nullable=False),
    Column("cpu_peak", BigInteger, nullable=False),
    Column("memory_sum", BigInteger, nullable=False),
    Column("memory_peak", BigInteger, nullable=False),
    UniqueConstraint("run", "observer"),
)
"""What a run used, by the samples of each process that took any."""

waits = Table(
    "waits",
    metadata,
    Column("run", _Key, ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
    Column("reason", String(64), nullable=False),
    Column("seconds", BigInteger, nullable=False),
    UniqueConstraint("run", "reason"),
)
"""For how long a run has waited for which reason, as far as its condition said so."""

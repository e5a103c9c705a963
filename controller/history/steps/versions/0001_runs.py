"""Runs, who is charged for them, and how long they waited for what."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_NAME = 253
_KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the first tables."""
    op.create_table(
        "charged_to",
        sa.Column("id", _KEY, primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        *(sa.Column(name, sa.String(_NAME), nullable=False) for name in ("namespace", "local_queue")),
        *(sa.Column(name, sa.String(_NAME), nullable=False) for name in ("cluster_queue", "flavor")),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("username", "requests", "price")),
    )
    op.create_table(
        "runs",
        sa.Column("id", _KEY, primary_key=True),
        sa.Column("uid", sa.String(_NAME), nullable=False, unique=True),
        sa.Column("charged_to", _KEY, sa.ForeignKey("charged_to.id"), nullable=False),
        *(sa.Column(name, sa.String(_NAME), nullable=False) for name in ("name", "owner_kind", "owner", "group")),
        sa.Column("priority", sa.BigInteger, nullable=False),
        sa.Column("node", sa.String(_NAME), nullable=False),
        *(
            sa.Column(name, sa.BigInteger, nullable=False)
            for name in ("created", "admitted", "bound", "started", "ended")
        ),
        sa.Column("outcome", sa.String(16), nullable=False),
        sa.Column("reason", sa.String(64), nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("message", "admitted_by")),
    )
    op.create_index("runs_by_charge", "runs", ["charged_to", "started", "ended"])
    op.create_index("runs_by_creation", "runs", ["created"])
    op.create_index("runs_by_end", "runs", ["ended"])
    op.create_table(
        "waits",
        sa.Column("run", _KEY, sa.ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
        sa.Column("reason", sa.String(64), nullable=False),
        sa.Column("seconds", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("run", "reason"),
    )

"""What pods used, by samples."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_NAME = 253
_KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the table of samples."""
    op.create_table(
        "samples",
        sa.Column("run", _KEY, sa.ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
        sa.Column("observer", sa.String(_NAME), nullable=False),
        *(
            sa.Column(name, sa.BigInteger, nullable=False)
            for name in ("samples", "cpu_sum", "cpu_peak", "memory_sum", "memory_peak")
        ),
        sa.UniqueConstraint("run", "observer"),
    )

"""When each run was expected to start, by the first forecast of it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column; of the runs that are there nobody knows it any more."""
    op.add_column("runs", sa.Column("planned", sa.BigInteger, nullable=False, server_default="0"))

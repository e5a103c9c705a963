"""Labels of pods that usage is summed by."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the column; of the pods that are there no label was kept."""
    op.add_column("charged_to", sa.Column("labels", sa.Text, nullable=False, server_default="{}"))

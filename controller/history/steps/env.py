"""What Alembic runs: the steps, on the connection that it was given."""

from __future__ import annotations

from alembic import context

from controller.history.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()

"""Every row of the table, in every way of protecting the gate: what is refused, changed and let through is the same."""

from __future__ import annotations

import pytest

from controller.core.gate.protection import Rule
from tests.integration.protection.admitted_rows import OF_ADMITTED_JOBS
from tests.integration.protection.binding_rows import BINDING
from tests.integration.protection.conftest import Protected
from tests.integration.protection.create_rows import CREATE
from tests.integration.protection.people import Field, is_gated
from tests.integration.protection.resize_rows import RESIZE
from tests.integration.protection.table import Allowed, Refused, Row
from tests.integration.protection.together_rows import TOGETHER
from tests.integration.protection.update_rows import UPDATE
from tests.support.impersonation import Reply

pytestmark = pytest.mark.integration

OF_JOBS = {Rule.JOB_IS_HELD, Rule.TEMPLATE_IS_FIXED}
"""Rules whose rows are in `job_rows`."""

ROWS = (*CREATE, *OF_ADMITTED_JOBS, *TOGETHER, *UPDATE, *RESIZE, *BINDING)


@pytest.mark.parametrize("row", [pytest.param(row, id=f"{row.rule}: {row.name}") for row in ROWS])
async def test_the_row_comes_out_as_it_says(row: Row, protected: Protected, field: Field) -> None:
    reply = await field.ask(row)
    match row.outcome:
        case Refused():
            _is_refused(reply, row, row.outcome)
        case Allowed():
            _is_allowed(reply, row.outcome)
    if protected.mode == "webhook":
        assert row.warning in " ".join(reply.warnings)


def _is_refused(reply: Reply, row: Row, outcome: Refused) -> None:
    assert reply.code == 403, reply.body
    for words in (f"{row.rule}: ", *outcome.words):
        assert words in reply.body["message"]


def _is_allowed(reply: Reply, outcome: Allowed) -> None:
    assert reply.code < 300, reply.body
    metadata = reply.body["metadata"]
    labels = metadata.get("labels") or {}
    if outcome.gated is not None:
        assert is_gated(reply.body) == outcome.gated
    for key in outcome.without:
        assert key not in labels
        assert key not in (metadata.get("annotations") or {})
    for key, value in outcome.labels.items():
        assert labels.get(key) == value
    if outcome.metadata is not None:
        found = {part: metadata[part] for part in ("labels", "annotations") if metadata.get(part)}
        assert found == outcome.metadata
    if outcome.gates is not None:
        assert tuple(gate["name"] for gate in reply.body["spec"].get("schedulingGates", ())) == outcome.gates


def test_every_rule_has_a_row_refused_and_one_that_passes() -> None:
    for kind in (Refused, Allowed):
        assert {row.rule for row in ROWS if isinstance(row.outcome, kind)} == set(Rule) - OF_JOBS


def test_rows_are_told_apart_by_their_names() -> None:
    names = [(row.rule, row.name) for row in ROWS]
    assert len(set(names)) == len(names)

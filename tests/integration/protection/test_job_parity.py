"""Every row of the table about Jobs, in every way of protecting the gate: what comes of it is the same."""

from __future__ import annotations

from typing import Any

import pytest

from controller.core.gate.protection import Rule
from controller.core.keys import USER
from controller.kube.client import Client
from tests.integration.protection.conftest import Protected
from tests.integration.protection.job_field import JobField
from tests.integration.protection.job_rows import CREATE_JOBS, UPDATE_JOBS
from tests.integration.protection.job_table import JobRow, Stored
from tests.integration.protection.part_rows import CREATE_PARTS, UPDATE_PARTS
from tests.integration.protection.table import Refused
from tests.support.impersonation import Impersonation, Reply
from tests.support.leaders import until_leads

pytestmark = pytest.mark.integration

ROWS = (*CREATE_JOBS, *UPDATE_JOBS, *CREATE_PARTS, *UPDATE_PARTS)


@pytest.fixture
async def jobs(protected: Protected, client: Client, apiserver: Impersonation) -> JobField:
    """The namespaces of the table."""
    return JobField(apiserver, protected.namespaces, await until_leads(client, "sandbox"))


@pytest.mark.parametrize("row", [pytest.param(row, id=f"{row.rule}: {row.name}") for row in ROWS])
async def test_what_is_asked_of_a_job_comes_out_so(row: JobRow, protected: Protected, jobs: JobField) -> None:
    reply = await jobs.ask(row)
    match row.outcome:
        case Refused(words):
            assert reply.code == 403, reply.body
            for text in (f"{row.rule}: ", *words):
                assert text in reply.body["message"]
        case Stored():
            _is_stored(reply, row.outcome)
    if protected.mode == "webhook":
        assert row.warning in " ".join(reply.warnings)


def _is_stored(reply: Reply, outcome: Stored) -> None:
    assert reply.code < 300, reply.body
    spec, template = reply.body["spec"], reply.body["spec"]["template"]
    if outcome.suspended is not None:
        assert spec["suspend"] is outcome.suspended
    for name, number in (("parallelism", outcome.parallelism), ("completions", outcome.completions)):
        assert number in (None, spec.get(name))
    for holder, labels, without in (
        (reply.body, outcome.labels, outcome.without),
        (template, outcome.template_labels, outcome.template_without),
    ):
        assert _all(holder).items() >= labels.items()
        assert not set(without) & _all(holder).keys()
    if outcome.has_user is not None:
        assert (USER in _all(template)) is outcome.has_user
        assert _all(template).get(USER) != "victim"


def _all(holder: dict[str, Any]) -> dict[str, Any]:
    metadata = holder["metadata"]
    return {**(metadata.get("labels") or {}), **(metadata.get("annotations") or {})}


def test_rules_of_jobs_have_rows_of_both_outcomes() -> None:
    of_jobs = {Rule.JOB_IS_HELD, Rule.KEYS_ARE_OURS, Rule.TEMPLATE_IS_FIXED, Rule.NO_GROWTH}
    for kind in (Refused, Stored):
        assert {row.rule for row in ROWS if isinstance(row.outcome, kind)} >= of_jobs


def test_rows_about_jobs_are_told_apart_by_their_names() -> None:
    names = [(row.rule, row.name) for row in ROWS]
    assert len(set(names)) == len(names)

"""While the webhook hangs: nothing that is protected gets by, and whoever touches nothing of ours never waits."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from functools import partial

import pytest

from controller.core.keys import QUEUE_NAME
from controller.core.protection import Rule
from controller.kube.client import MERGE_PATCH, Client
from controller.kube.errors import NotFound
from tests.integration.protection.conftest import Protected
from tests.integration.protection.people import Field
from tests.integration.protection.table import (
    ALLOWED,
    DAEMON,
    GATED,
    MIRROR,
    ON_NODE,
    OPENED,
    OURS,
    QUEUED_LABELS,
    THEIRS,
    Bind,
    Create,
    Row,
    Start,
    Update,
    Where,
    Who,
)
from tests.support.eventually import eventually
from tests.support.impersonation import Impersonation

pytestmark = [pytest.mark.integration, pytest.mark.parametrize("protected", ["webhook"], indirect=True)]

AWAY = "failed calling webhook"
EDIT = {"metadata": {"labels": {"app": "a"}}}
REPORT = {"status": {"conditions": [THEIRS]}}
FORGERY = {"status": {"conditions": [OURS]}}
GROWN = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]}}
UNFINALIZED = {"metadata": {"finalizers": None}}
UNQUEUED = {"metadata": {"labels": {QUEUE_NAME: None}}}
UNGATED = {"spec": {"schedulingGates": None}}


def row(name: str, who: Who, does: Create | Update | Bind) -> Row:
    return Row(rule=Rule.GATE_IS_OURS, name=name, who=who, does=does, outcome=ALLOWED)


UNHINDERED = (
    row("a pod without a queue is created", Who.EDITOR, Create()),
    row("a pod of a daemon set is created", Who.DAEMON_SET_CONTROLLER, Create(DAEMON)),
    row("a static pod's image is created", Who.NODE, Create(MIRROR, ON_NODE)),
    row("a pod without a queue grows", Who.EDITOR, Update(Start.FOREIGN, GROWN, "resize")),
    row("the gate of somebody else goes", Who.EDITOR, Update(Start.FOREIGN, UNGATED)),
    row("labels of others change on a queued pod", Who.EDITOR, Update(Start.QUEUED, EDIT)),
    row("a node reports of a released pod", Who.NODE, Update(Start.RELEASED, REPORT, "status")),
    row("the scheduler reports of a queued pod", Who.SCHEDULER, Update(Start.QUEUED, REPORT, "status")),
    row("the scheduler binds", Who.SCHEDULER, Bind(Start.RELEASED, {})),
    row("the controller admits", Who.CONTROLLER, Update(Start.QUEUED, OPENED)),
    row("the controller says why", Who.CONTROLLER, Update(Start.QUEUED, FORGERY, "status")),
    row("a pod that is being deleted loses its finalizers", Who.EDITOR, Update(Start.DELETING, UNFINALIZED)),
    row("a pod that ends on its node loses its finalizers", Who.EDITOR, Update(Start.ENDING, UNFINALIZED)),
    row("the break-glass group opens the gate", Who.BREAK_GLASS, Update(Start.QUEUED, OPENED)),
    row("the break-glass group lets a pod grow", Who.BREAK_GLASS, Update(Start.RELEASED, GROWN, "resize")),
    row("a pod that brings queue and gate itself is as it should be", Who.EDITOR, Create(QUEUED_LABELS, GATED)),
)

HELD_BACK = (
    row("a queued pod is created", Who.EDITOR, Create(QUEUED_LABELS)),
    row("our gate is put on a pod without a queue", Who.EDITOR, Create(spec=GATED)),
    row("a pod without a queue is created where one is required", Who.EDITOR, Create(where=Where.REQUIRED)),
    row("the gate is opened", Who.EDITOR, Update(Start.QUEUED, OPENED)),
    row("the gate is opened by an administrator", Who.ADMINISTRATOR, Update(Start.QUEUED, OPENED)),
    row("a condition of ours is forged", Who.EDITOR, Update(Start.QUEUED, FORGERY, "status")),
    row("a pod that ends on its node leaves its queue", Who.EDITOR, Update(Start.ENDING, UNQUEUED)),
    row("a released pod grows", Who.EDITOR, Update(Start.RELEASED, GROWN, "resize")),
    row("a binding brings a queue", Who.EDITOR, Bind(Start.RELEASED, QUEUED_LABELS)),
)


@pytest.fixture
async def hanging(protected: Protected) -> AsyncIterator[None]:
    """The webhook hangs: that is the worst way in which it can be away."""
    protected.programs.webhook.send(signal.SIGSTOP)
    try:
        yield
    finally:
        protected.programs.webhook.send(signal.SIGCONT)


async def gone(client: Client, path: str) -> bool:
    try:
        await client.get(path)
    except NotFound:
        return True
    return False


@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in UNHINDERED])
async def test_without_the_webhook(row: Row, hanging: None, field: Field) -> None:
    reply = await field.ask(row)
    assert reply.code < 300, reply.body


@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in HELD_BACK])
async def test_not_without_the_webhook(row: Row, hanging: None, field: Field) -> None:
    reply = await field.ask(row)
    assert reply.code >= 500, reply.body
    assert AWAY in reply.body["message"]


async def test_a_namespace_with_gated_pods_can_be_deleted_without_the_webhook(
    hanging: None, namespace: str, client: Client, apiserver: Impersonation
) -> None:
    field = Field(client, apiserver, {Where.PLAIN: namespace})
    await field.start(Start.QUEUED)
    kept = await field.start(Start.DELETING)
    path = f"/api/v1/namespaces/{namespace}"
    await client.delete(path)
    await client.patch(f"{path}/pods/{kept}", UNFINALIZED, content_type=MERGE_PATCH)
    await eventually(partial(gone, client, path), seconds=60, message="the namespace is still there")


async def test_queued_pods_get_in_again_when_the_webhook_is_back(
    hanging: None, field: Field, protected: Protected
) -> None:
    protected.programs.webhook.send(signal.SIGCONT)

    async def created() -> bool:
        reply = await field.ask(row("a queued pod is created", Who.EDITOR, Create(QUEUED_LABELS)))
        return reply.code < 300 and bool(reply.body["spec"].get("schedulingGates"))

    await eventually(created, message="the webhook does not come back")

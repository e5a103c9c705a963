"""While the webhook hangs: nothing that is protected gets by, and whoever touches nothing of ours never waits.

The latter under every failure policy: as shipped (protection Fail, the rest Ignore), and Ignore or Fail for all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from controller.core.gate.protection import Rule
from controller.core.keys import QUEUE_NAME
from controller.kube.client import MERGE_PATCH, Client
from tests.integration.protection.conftest import Protected
from tests.integration.protection.outage import Outage, creating_a_queued_pod
from tests.integration.protection.people import ALL_OF, AS_BREAK_GLASS, Field
from tests.integration.protection.table import (
    ALLOWED,
    BY_KUEUE,
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
from tests.support.command import penstock
from tests.support.eventually import eventually
from tests.support.existence import until_gone
from tests.support.impersonation import Impersonation
from tests.support.team import TEAM_LABEL, Team

pytestmark = [pytest.mark.integration, pytest.mark.parametrize("protected", ["webhook"], indirect=True)]

AWAY = "failed calling webhook"
EDIT = {"metadata": {"labels": {"app": "a"}}}
REPORT = {"status": {"conditions": [THEIRS]}}
FORGERY = {"status": {"conditions": [OURS]}}
GROWN = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]}}
UNFINALIZED = {"metadata": {"finalizers": None}}
UNQUEUED = {"metadata": {"labels": {QUEUE_NAME: None}}}
UNGATED = {"spec": {"schedulingGates": None}}
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
REGISTRATIONS = tuple(f"{ADMISSION}/{phase}webhookconfigurations/penstock" for phase in ("mutating", "validating"))
REFUSES = {
    "as shipped": f'{AWAY} "new-pods.penstock.dev"',
    "Ignore": "created",
    "Fail": f'{AWAY} "queued-pods.penstock.dev"',
}


def row(name: str, who: Who, does: Create | Update | Bind) -> Row:
    return Row(rule=Rule.GATE_IS_OURS, name=name, who=who, does=does, outcome=ALLOWED)


UNHINDERED = (
    row("a pod without a queue is created", Who.EDITOR, Create()),
    row("a pod with Kueue's label is created where nobody has it accepted", Who.EDITOR, Create(BY_KUEUE)),
    row("labels of a pod without a queue change", Who.EDITOR, Update(Start.FOREIGN, EDIT)),
    row("a node reports of a pod without a queue", Who.NODE, Update(Start.FOREIGN, REPORT, "status")),
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
)
BRINGS_ITS_GATE = row("a pod that brings queue and gate itself", Who.EDITOR, Create(QUEUED_LABELS, GATED))

HELD_BACK = (
    row("a queued pod is created", Who.EDITOR, Create(QUEUED_LABELS)),
    row("a pod that Kueue's label queues is created", Who.EDITOR, Create(BY_KUEUE, where=Where.KUEUE)),
    row("our gate is put on a pod without a queue", Who.EDITOR, Create(spec=GATED)),
    row("a pod without a queue is created where one is required", Who.EDITOR, Create(where=Where.REQUIRED)),
    row("the gate is opened", Who.EDITOR, Update(Start.QUEUED, OPENED)),
    row("the gate is opened by an administrator", Who.ADMINISTRATOR, Update(Start.QUEUED, OPENED)),
    row("a condition of ours is forged", Who.EDITOR, Update(Start.QUEUED, FORGERY, "status")),
    row("a pod that ends on its node leaves its queue", Who.EDITOR, Update(Start.ENDING, UNQUEUED)),
    row("a released pod grows", Who.EDITOR, Update(Start.RELEASED, GROWN, "resize")),
    row("a binding brings a queue", Who.EDITOR, Bind(Start.RELEASED, QUEUED_LABELS)),
)


AS_SHIPPED = "as shipped"
POLICIES = (AS_SHIPPED, "Ignore", "Fail")
SHIPPED = pytest.mark.parametrize("hanging", [AS_SHIPPED], indirect=True)


@pytest.fixture(scope="module", params=POLICIES)
def hanging(request: pytest.FixtureRequest, protected: Protected) -> Iterator[Outage]:
    """An outage under the failure policy of the parameter."""
    with asyncio.Runner() as runner:
        shipped = runner.run(set_policies(protected, request.param))
        outage = Outage(protected)
        outage.begin()
        try:
            runner.run(in_effect(protected, request.param))
            yield outage
        finally:
            outage.end()
            runner.run(put_back(protected, shipped))


async def set_policies(protected: Protected, policy: str) -> dict[str, Any]:
    """Write the failure policy into all entries of our registrations; return these as they were, by path."""
    shipped = {}
    async with protected.sandbox.client() as client:
        for path in REGISTRATIONS:
            shipped[path] = orjson.loads(await client.get(path))["webhooks"]
            if policy != AS_SHIPPED:
                entries = [{**entry, "failurePolicy": policy} for entry in shipped[path]]
                await client.patch(path, {"webhooks": entries}, content_type=MERGE_PATCH)
    return shipped


async def put_back(protected: Protected, shipped: dict[str, Any]) -> None:
    async with protected.sandbox.client() as client:
        for path, entries in shipped.items():
            await client.patch(path, {"webhooks": entries}, content_type=MERGE_PATCH)


async def in_effect(protected: Protected, policy: str) -> None:
    """The apiserver heeds what was written a moment later; who refuses a queued pod tells which policy that is."""

    async def heeded() -> bool:
        reply = await creating_a_queued_pod(protected)
        assert REFUSES[policy] in reply.body.get("message", "created"), reply.body
        return True

    await eventually(heeded, seconds=60, message=f"failurePolicy {policy} is not in effect")


@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in UNHINDERED])
async def test_without_the_webhook(row: Row, hanging: Outage, field: Field) -> None:
    async with hanging.over():
        name = await field.prepare(row.does)
    reply = await field.about(name, row.who, row.does)
    assert reply.code < 300, reply.body


@pytest.mark.parametrize("hanging", [AS_SHIPPED, "Ignore"], indirect=True)
async def test_a_pod_with_its_own_queue_and_gate_is_right(hanging: Outage, field: Field) -> None:
    reply = await field.ask(BRINGS_ITS_GATE)
    assert reply.code < 300, reply.body


@SHIPPED
@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in HELD_BACK])
async def test_not_without_the_webhook(row: Row, hanging: Outage, field: Field) -> None:
    reply = await field.ask(row)
    assert reply.code >= 500, reply.body
    assert AWAY in reply.body["message"]


async def test_a_namespace_can_be_deleted_without_the_webhook(
    hanging: Outage, namespace: str, client: Client, apiserver: Impersonation
) -> None:
    field = Field(client, apiserver, {Where.PLAIN: namespace})
    async with hanging.over():
        await field.start(Start.QUEUED)
        kept = await field.start(Start.DELETING)
    path = f"/api/v1/namespaces/{namespace}"
    await client.delete(path)
    await client.patch(f"{path}/pods/{kept}", UNFINALIZED, content_type=MERGE_PATCH)
    await until_gone(client, path, seconds=60)


async def test_an_unqueued_pod_needs_no_webhook(hanging: Outage, team: Team) -> None:
    await team.nodes("any")
    await team.pod("foreign", queue=None, spec={"nodeSelector": {TEAM_LABEL: team.id}})
    await team.client.patch(f"{team.pods_path}/foreign", EDIT, content_type=MERGE_PATCH)
    await team.until_bound("foreign")
    await team.client.delete(f"{team.pods_path}/foreign")
    await until_gone(team.client, f"{team.pods_path}/foreign")


async def test_the_controller_goes_on_releasing_without_the_webhook(hanging: Outage, team: Team) -> None:
    await team.ready(stopPolicy="Hold")
    async with hanging.over():
        await team.pod("one")
        await team.until_waiting("one", "QueueStopped")
    await team.change("clusterqueues", team.full("cq"), {"stopPolicy": "None"})
    await team.until_bound("one")


async def test_the_break_glass_group_releases_all_without_the_webhook(
    hanging: Outage, team: Team, protected: Protected
) -> None:
    await team.ready(stopPolicy="Hold")
    async with hanging.over():
        await team.pods(3)
    done = await penstock(protected.sandbox, *ALL_OF, team.namespace, *AS_BREAK_GLASS)
    assert (done.code, done.output, done.errors) == (0, "Released 3 of 3 pods.\n", "")


@SHIPPED
async def test_others_are_told_that_the_webhook_is_away(hanging: Outage, team: Team, protected: Protected) -> None:
    await team.ready(stopPolicy="Hold")
    async with hanging.over():
        await team.pod("one")
    done = await penstock(protected.sandbox, *ALL_OF, team.namespace)
    assert done.code == 1
    said = f"Error: {team.namespace}/one: not released: the webhook updates.penstock.dev does not"
    assert done.errors.startswith(said)


@SHIPPED
async def test_queued_pods_get_in_again_when_the_webhook_is_back(hanging: Outage, field: Field) -> None:
    async def created() -> bool:
        reply = await field.ask(row("a queued pod is created", Who.EDITOR, Create(QUEUED_LABELS)))
        return reply.code < 300 and bool(reply.body["spec"].get("schedulingGates"))

    async with hanging.over():
        await eventually(created, message="the webhook does not come back")

"""A controller that lost its Lease releases nothing more, whoever keeps the gate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from controller.core.keys import ADMITTED_BY, CLUSTER_QUEUE, ORIGINAL_TEMPLATE, RELEASE_ATTEMPT, REVOKED_BY
from controller.kube.client import MERGE_PATCH, Client
from controller.sandbox.programs import Program
from tests.integration.protection.conftest import Protected
from tests.integration.protection.job_field import JobField
from tests.integration.protection.job_table import FORMER, JobStart, UpdateJob
from tests.integration.protection.people import Field
from tests.integration.protection.table import OPENED, QUEUED_LABELS, Start, Update, Who
from tests.support.eventually import eventually
from tests.support.impersonation import Impersonation
from tests.support.leaders import LEASE, delete_lease, until_leads
from tests.support.team import Team, is_gated

pytestmark = pytest.mark.integration


@pytest.fixture
def another(protected: Protected, tmp_path: Path) -> Iterator[Callable[..., Program]]:
    """Further controllers, by identity."""
    started: list[Program] = []

    def start(identity: str, *, lease_seconds: int = 15) -> Program:
        kubeconfig = protected.sandbox.folder / "kubeconfigs" / "penstock-system.penstock-controller"
        arguments = ["--kubeconfig", str(kubeconfig), "--http-address", "127.0.0.1:0", "--identity", identity]
        program = Program("controller", [*arguments, "--lease-seconds", str(lease_seconds)], tmp_path / identity)
        started.append(program)
        program.start()
        return program

    yield start
    for program in started:
        program.kill()


async def stamped(field: Field, start: Start, identity: str, who: Who = Who.CONTROLLER) -> tuple[int, str]:
    """Code and message for a pod that is released with the stamp of `identity`."""
    patch = {**OPENED, "metadata": {"annotations": {ADMITTED_BY: identity}}}
    reply = await field.send(who, Update(start, patch))
    return reply.code, str(reply.body.get("message", ""))


async def leads_again(protected: Protected, client: Client, field: Field) -> None:
    """Start the controller of the sandbox again; wait until it leads, and until all keepers of the fence know."""
    controller = protected.programs.controller
    controller.start()
    await controller.wait_ready()
    leader = await until_leads(client, "sandbox")
    releases = Update(Start.QUEUED, {**OPENED, "metadata": {"annotations": {ADMITTED_BY: leader}}})
    pod = await field.prepare(releases)

    async def passes() -> bool:
        reply = await field.about(pod, Who.CONTROLLER, releases)
        return reply.code == 200

    await eventually(passes, message="the fence does not know who leads")


async def test_only_who_holds_the_lease_may_stamp(field: Field, client: Client) -> None:
    leader = await until_leads(client, "sandbox")
    code, message = await stamped(field, Start.QUEUED, "former")
    assert code == 403
    assert f"leader-only: metadata.annotations[{ADMITTED_BY}]: 'former' does not hold the Lease" in message
    assert f"{leader!r} holds" in message

    assert await stamped(field, Start.QUEUED, leader) == (200, "")


async def test_only_who_holds_the_lease_lets_a_job_begin(
    protected: Protected, client: Client, apiserver: Impersonation
) -> None:
    leader = await until_leads(client, "sandbox")
    jobs = JobField(apiserver, protected.namespaces, leader)

    async def answer(start: JobStart, who: Who = Who.CONTROLLER, **spec: bool | int) -> tuple[int, str]:
        annotations = {key: value for key, value in by.items() if value is not None}
        reply = await jobs.send(who, UpdateJob(start, {"spec": spec, "metadata": {"annotations": annotations}}))
        return reply.code, str(reply.body.get("message", ""))

    by: dict[str, str | None] = {}
    code, message = await answer(JobStart.WAITING, suspend=False)
    assert (code, f"leader-only: metadata.annotations[{ADMITTED_BY}]: ''" in message) == (403, True)
    # it was admitted in the name of another, which the patch leaves as it is
    code, message = await answer(JobStart.SUSPENDED, suspend=False)
    assert (code, f"'{FORMER}' does not hold the Lease" in message) == (403, True)
    assert (await answer(JobStart.ADMITTED, suspend=True))[0] == 200
    assert (await answer(JobStart.SUSPENDED, Who.BREAK_GLASS, suspend=False))[0] == 200
    by = {ADMITTED_BY: "former"}
    assert (await answer(JobStart.WAITING, suspend=False))[0] == 403
    by = {ADMITTED_BY: leader}
    assert (await answer(JobStart.SUSPENDED, suspend=False))[0] == 200
    by = {RELEASE_ATTEMPT: "2"}
    code, message = await answer(JobStart.WAITING)
    assert (code, f"metadata.annotations[{REVOKED_BY}]" in message) == (403, True)
    by = {RELEASE_ATTEMPT: "2", REVOKED_BY: leader}
    assert (await answer(JobStart.WAITING))[0] == 200


async def test_only_who_holds_the_lease_lets_a_job_have_more(
    protected: Protected, client: Client, apiserver: Impersonation
) -> None:
    leader = await until_leads(client, "sandbox")
    jobs = JobField(apiserver, protected.namespaces, leader)

    async def answer(start: JobStart, number: int, by: str | None, who: Who = Who.CONTROLLER) -> tuple[int, str]:
        annotations = {} if by is None else {ADMITTED_BY: by}
        patch = {"spec": {"parallelism": number}, "metadata": {"annotations": annotations}}
        reply = await jobs.send(who, UpdateJob(start, patch))
        return reply.code, str(reply.body.get("message", ""))

    for by, said in ((None, FORMER), ("former", "former")):
        code, message = await answer(JobStart.ADMITTED, 3, by)
        assert (code, f"'{said}' does not hold the Lease" in message) == (403, True)
    assert (await answer(JobStart.ADMITTED, 3, leader))[0] == 200
    assert (await answer(JobStart.ADMITTED, 1, None))[0] == 200
    assert (await answer(JobStart.ADMITTED, 3, None, Who.BREAK_GLASS))[0] == 200
    # as a Job that was suspended goes back to its queue, with all the pods that its user wants
    assert (await answer(JobStart.SUSPENDED, 3, None))[0] == 200


async def test_a_job_goes_back_to_its_queue_in_nobodys_name(
    protected: Protected, client: Client, apiserver: Impersonation
) -> None:
    leader = await until_leads(client, "sandbox")
    jobs = JobField(apiserver, protected.namespaces, leader)
    gone = {ADMITTED_BY: None, ORIGINAL_TEMPLATE: None}
    for notes in (gone, {**gone, RELEASE_ATTEMPT: "3", REVOKED_BY: leader}):
        metadata = {"labels": {CLUSTER_QUEUE: None}, "annotations": notes}
        reply = await jobs.send(Who.CONTROLLER, UpdateJob(JobStart.SUSPENDED, {"metadata": metadata}))
        assert reply.code == 200, reply.body


async def test_administrators_are_not_fenced(field: Field) -> None:
    assert await stamped(field, Start.QUEUED, "jane", Who.BREAK_GLASS) == (200, "")


async def test_pods_that_name_no_queue_are_not_fenced(field: Field) -> None:
    code, message = await stamped(field, Start.FOREIGN, "former")
    assert (code, "leader-only" in message, "queues-only" in message) == (403, False, True)


async def test_the_next_leader_releases_under_its_own_name(
    team: Team, protected: Protected, client: Client, field: Field, another: Callable[..., Program]
) -> None:
    await team.ready()
    second = another("second")
    await second.wait_ready()
    first = protected.programs.controller
    former = await until_leads(client, "sandbox")
    try:
        assert await first.stop() == 0
        await team.pod("one")
        await team.until_bound("one")
        assert (await team.get("one"))["metadata"]["annotations"][ADMITTED_BY] == await until_leads(client, "second")
        code, _ = await stamped(field, Start.QUEUED, former)
        assert code == 403
        assert await second.stop() == 0
    finally:
        second.kill()
        await leads_again(protected, client, field)
    await team.pod("two")
    await team.until_bound("two")
    assert (await team.get("two"))["metadata"]["annotations"][ADMITTED_BY] == await until_leads(client, "sandbox")


async def test_a_leader_that_lost_its_lease_releases_nothing(
    team: Team, protected: Protected, client: Client, field: Field, another: Callable[..., Program]
) -> None:
    await team.ready()
    first = protected.programs.controller
    assert await first.stop() == 0
    try:
        # it looks at its Lease again after 40 s
        late = another("late", lease_seconds=300)
        await late.wait_ready()
        await team.pod("before")
        await team.until_bound("before")
        await client.patch(LEASE, {"spec": {"holderIdentity": "its-successor"}}, content_type=MERGE_PATCH)

        await team.pod("after")

        await team.until_waiting("after", "PatchRejected")
        assert "leader-only" in late.log.read_text()
        assert is_gated(await team.get("after"))
        late.kill()
    finally:
        await delete_lease(client)
        await leads_again(protected, client, field)
    await team.until_bound("after")


async def test_without_a_lease_other_peoples_updates_pass(protected: Protected, client: Client, field: Field) -> None:
    first = protected.programs.controller
    assert await first.stop() == 0
    try:
        await delete_lease(client)

        async def passes() -> bool:
            reply = await field.send(Who.EDITOR, Update(Start.QUEUED, {"metadata": QUEUED_LABELS}))
            return reply.code == 200

        await eventually(passes, message="an update is refused while there is no Lease")
    finally:
        await leads_again(protected, client, field)

"""`penstock release` where the gate is protected: who may, what is changed, and what is not."""

from __future__ import annotations

import pytest

from controller.core.keys import FLAVOR, GATE, QUEUE_NAME
from controller.kube.client import Client
from tests.integration.protection.conftest import Protected
from tests.integration.protection.job_field import a_job
from tests.integration.protection.people import ALL_OF, AS_BREAK_GLASS
from tests.support.command import penstock
from tests.support.eventually import eventually
from tests.support.team import Team, is_gated

pytestmark = pytest.mark.integration
THEIRS = {"name": "example.com/wait"}


@pytest.fixture
async def queue(team: Team) -> Team:
    """A team whose queue admits nothing, with two pods, one of which has a gate of somebody else too."""
    await team.ready(stopPolicy="Hold")
    await team.pod("one")
    await team.pod("two", spec={"schedulingGates": [THEIRS]})
    return team


async def test_an_administrator_is_refused_in_one_line_a_pod(queue: Team, protected: Protected) -> None:
    done = await penstock(protected.sandbox, *ALL_OF, queue.namespace)

    how = "only Penstock and the break-glass group may open the gate: add --as NAME --as-group penstock:break-glass"
    assert sorted(done.errors.splitlines()) == [
        f"Error: {queue.namespace}/{name}: not released: {how}" for name in ("one", "two")
    ]
    assert (done.code, done.output) == (1, "Released 0 of 2 pods; 2 pods could not be.\n")
    assert all(is_gated(pod) for pod in (await queue.all()).values())


async def test_break_glass_takes_our_gate_off_and_nothing_else(queue: Team, protected: Protected) -> None:
    before = await queue.all()
    done = await penstock(protected.sandbox, *ALL_OF, queue.namespace, *AS_BREAK_GLASS)
    assert (done.code, done.output, done.errors) == (0, "Released 2 of 2 pods.\n", "")

    await queue.until_bound("one")
    after = await queue.all()
    assert after["two"]["spec"].pop("schedulingGates") == [THEIRS]
    assert GATE in str(before["two"]["spec"].pop("schedulingGates"))
    assert after["two"]["spec"] == before["two"]["spec"]
    assert FLAVOR not in after["one"]["metadata"]["labels"]
    again = await penstock(protected.sandbox, *ALL_OF, queue.namespace)
    assert again.output == f"0 pods in namespace {queue.namespace} have the gate {GATE}.\n"


async def test_break_glass_lets_a_held_job_begin(team: Team, protected: Protected, client: Client) -> None:
    await team.ready(stopPolicy="Hold")
    path = f"/apis/batch/v1/namespaces/{team.namespace}/jobs"
    await client.post(path, a_job("held", {"labels": {QUEUE_NAME: "main"}}, {}, {}))
    refused = await penstock(protected.sandbox, *ALL_OF, team.namespace)
    assert (refused.code, refused.output) == (1, "Released 0 of 1 Job; 1 Job could not be.\n")
    assert "only Penstock and the break-glass group may open the gate" in refused.errors
    done = await penstock(protected.sandbox, *ALL_OF, team.namespace, *AS_BREAK_GLASS)
    assert (done.code, done.output, done.errors) == (0, "Released 1 of 1 Job.\n", "")

    async def begins() -> bool:
        pods = list((await team.all()).values())
        assert len(pods) == 2
        assert not [pod for pod in pods if is_gated(pod)]
        return True

    await eventually(begins, message="the Job creates no pods")


async def test_a_dry_run_lists_the_pods_of_the_namespace(queue: Team, protected: Protected) -> None:
    done = await penstock(protected.sandbox, "release", "--all", "--dry-run", "-n", queue.namespace)
    assert (done.code, done.output) == (0, f"{queue.namespace}/one\n{queue.namespace}/two\n")


async def test_who_may_not_act_as_the_group_is_told_so(queue: Team, protected: Protected) -> None:
    kubeconfig = await protected.sandbox.service_account_kubeconfig("penstock-system", "penstock-controller")
    arguments = (*ALL_OF, queue.namespace, *AS_BREAK_GLASS, "--kubeconfig", str(kubeconfig))
    done = await penstock(protected.sandbox, *arguments)
    assert done.code == 1
    assert done.errors.startswith("Error: no right to impersonate ")
    assert done.errors.count("\n") == 1

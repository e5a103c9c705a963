"""A shadow beside a leader: it decides the same, writes nothing, and says where the two differ.

Its account has the role that docs/operations.md shows, which allows no write at all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import orjson
import pytest

from controller.core.keys import BREAK_GLASS
from controller.kube import clock
from controller.kube.client import MERGE_PATCH, Client
from controller.runtime.observing.patience import PATIENCE_SECONDS
from controller.runtime.observing.shadow import USER_AGENT
from controller.sandbox.programs import Program
from tests.support.audit import requests
from tests.support.clusters import Cluster
from tests.support.eventually import eventually
from tests.support.impersonation import Identity, impersonation
from tests.support.leaders import holder
from tests.support.rbac_objects import a_binding, account, path_of
from tests.support.shown_objects import shown
from tests.support.team import Json, Team, flavor_of

pytestmark = pytest.mark.integration

RESULT = re.compile(r'^penstock_observed_decisions_total\{result="(\w+)",what="(\w+)"\} (\d+)', re.MULTILINE)
BREAKING_GLASS = Identity("jane", ("system:masters", "system:authenticated", BREAK_GLASS))


class AShadow:
    """A shadow as a process, and what it counts."""

    def __init__(self, program: Program) -> None:
        self.program = program

    async def results(self) -> dict[tuple[str, str], int]:
        """Counts by what and result, without zeros."""
        url = f"http://127.0.0.1:{self.program.port('http')}/metrics"
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            found = RESULT.findall(await answer.text())
        return {(what, result): int(count) for result, what, count in found if int(count)}

    async def until(self, **expected: int) -> None:
        """Wait until the results of admissions are these."""

        async def counted() -> bool:
            results = await self.results()
            assert results == {("admission", name): count for name, count in expected.items()}
            return True

        await eventually(counted, message="the shadow counts something else")

    def lines(self, event: str) -> list[Json]:
        """What it logged of this kind."""
        entries = map(orjson.loads, self.program.log.read_bytes().splitlines())
        return [one for one in entries if one["event"] == event]


@pytest.fixture
async def shadow(cluster: Cluster, client: Client, team: Team, tmp_path: Path) -> AsyncIterator[AShadow]:
    """A shadow that has listed everything. It outlives no test: each begins to count at 0."""
    role = {**shown("operations.md", "ClusterRole"), "metadata": {"name": team.full("shadow")}}
    binding = a_binding(team.full("shadow"), team.full("shadow"), account("shadow", team.namespace))
    await client.post(f"/api/v1/namespaces/{team.namespace}/serviceaccounts", {"metadata": {"name": "shadow"}})
    await client.post("/apis/rbac.authorization.k8s.io/v1/clusterroles", role)
    await client.post(path_of(binding), binding)
    kubeconfig = await cluster.sandbox.service_account_kubeconfig(team.namespace, "shadow")
    arguments = ["--kubeconfig", str(kubeconfig), "--http-address", "127.0.0.1:0", "--observe"]
    recorded = ["--record-decisions", str(tmp_path / "decisions.json.gz")]
    program = Program("controller", [*arguments, *recorded], tmp_path / "shadow.log")
    program.start()
    try:
        await program.wait_ready()
        yield AShadow(program)
        assert await program.stop() == 0
    finally:
        if program.exit_code is None:
            program.kill()
        await client.delete(f"{path_of(binding)}/{team.full('shadow')}")
        await client.delete(f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{team.full('shadow')}")


READING = ("get", "list", "watch")


def writers(cluster: Cluster, namespace: str) -> dict[str, set[str]]:
    """Who wrote to pods of this namespace by the audit log: users by user agent."""
    found: dict[str, set[str]] = {}
    for entry in requests(cluster.sandbox, namespace=namespace, resource="pods"):
        if entry["verb"] not in READING:
            found.setdefault(entry.get("userAgent", ""), set()).add(entry["user"]["username"])
    return found


async def test_a_leader_and_its_shadow_agree(
    team: Team, cluster: Cluster, client: Client, shadow: AShadow, tmp_path: Path
) -> None:
    await team.nodes("spot", 2, cpu="8", memory="32Gi")
    await team.nodes("on-demand", 2, cpu="8", memory="32Gi")
    for shape in ("spot", "on-demand"):
        await team.flavor(shape)
    await team.cluster_queue({"spot": {"cpu": 12}, "on-demand": {"cpu": 8}}, stopPolicy="Hold")
    await team.local_queue()
    leader = await holder(client)
    # in their order, and decided on at once: which flavor a pod gets does not depend on when it is seen
    names = [f"pod-{number:02}" for number in range(20)]
    for name in names:
        await team.pod(name)
    await team.until_waiting(names[-1], "QueueStopped")
    await team.change("clusterqueues", team.full("cq"), {"stopPolicy": "None"})
    pods = await team.until_bound(*names)
    assert Counter(map(flavor_of, pods.values())) == {team.full("spot"): 12, team.full("on-demand"): 8}
    agreed, not_compared = ("admission", "agreed"), ("admission", "not_compared")

    async def counted() -> dict[tuple[str, str], int]:
        results = await shadow.results()
        assert sum(results.values()) == 20
        return results

    results = await eventually(counted, message="the shadow has not compared all of them")
    # the leader may be quicker with some than the shadow is
    assert results.keys() <= {agreed, not_compared}
    assert results[agreed] > 10
    assert shadow.lines("decided_otherwise") == []
    # nobody can write with its role; so that it never tried, it would have said in its log
    entries = [orjson.loads(line) for line in shadow.program.log.read_bytes().splitlines()]
    assert [one for one in entries if one["level"] != "info"] == []
    by_agent = writers(cluster, team.namespace)
    assert by_agent["penstock-controller"] == {"system:serviceaccount:penstock-system:penstock-controller"}
    assert USER_AGENT not in by_agent
    assert not [who for who in set().union(*by_agent.values()) if who.endswith(f":{team.namespace}:shadow")]
    assert await holder(client) == leader
    assert (tmp_path / "decisions.json.gz").stat().st_size > 0


async def test_a_pod_that_was_let_in_by_hand_is_a_difference(team: Team, cluster: Cluster, shadow: AShadow) -> None:
    await team.ready({"spot": {"cpu": 2}})
    await team.pod("large", "4")
    await team.until_waiting("large", "NeverFits")
    known = clock.monotonic()
    await eventually(lambda: clock.monotonic() > known + PATIENCE_SECONDS, message="the patience is not over")
    async with impersonation(cluster.sandbox) as apiserver:
        opened = {"spec": {"schedulingGates": None}}
        reply = await apiserver.send(
            BREAKING_GLASS, "PATCH", f"{team.pods_path}/large", opened, content_type=MERGE_PATCH
        )
        assert reply.code == 200, reply
    await shadow.until(released_first=1)
    (line,) = shadow.lines("decided_otherwise")
    assert (line["pod"], line["theirs"]) == (f"{team.namespace}/large", "released without Penstock's stamps")


@pytest.mark.more
async def test_what_a_stopped_leader_does_not_do_is_told(team: Team, cluster: Cluster, shadow: AShadow) -> None:
    await team.ready({"spot": {"cpu": 2}})
    leader = cluster.programs.controller
    assert await leader.stop() == 0
    try:
        await team.pod("one")
        await shadow.until(not_released=1)
    finally:
        leader.start()
        await leader.wait_ready()
    (line,) = shadow.lines("decided_otherwise")
    assert (line["pod"], line["theirs"]) == (f"{team.namespace}/one", "the pod still waits")
    assert line["ours"] == f"ClusterQueue {team.full('cq')}, flavor {team.full('spot')}"
    await team.until_bound("one")
    # late, and told already: the next pod is no difference
    await team.pod("two")
    await team.until_bound("two")

    async def compared() -> bool:
        results = await shadow.results()
        assert results.pop(("admission", "not_released")) == 1
        return results in ({("admission", "agreed"): 1}, {("admission", "not_compared"): 1})

    await eventually(compared, message="the next pod is not compared")

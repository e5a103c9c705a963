"""`penstock eta` and `penstock simulate` of a real cluster: what is foreseen happens."""

from __future__ import annotations

import orjson
import pytest

from controller.core.keys import ADMITTED_AT, EXPECTED_RUNTIME
from controller.kube import clock
from tests.support.clusters import Cluster
from tests.support.command import penstock
from tests.support.eventually import eventually
from tests.support.team import Json, Team, is_gated

pytestmark = pytest.mark.integration

_RUNS_SECONDS = 10
_SLACK_SECONDS = 30.0
"""What a simulation does not have: requests, the kubelet, the command's own start, others on the same machine."""


async def foreseen(team: Team, cluster: Cluster, *targets: str) -> dict[str, Json]:
    """The forecasts of the team's pods, by name."""
    done = await penstock(cluster.sandbox, "eta", *targets, "-n", team.namespace, "-o", "json")
    assert done.code == 0, done.errors
    return {one["name"]: one["start"] for one in orjson.loads(done.output)}


@pytest.mark.more
async def test_pods_start_when_it_was_foreseen(team: Team, cluster: Cluster) -> None:
    """The history is that of the pods that have succeeded and are still there: nobody states a runtime."""
    await team.ready({"spot": {"cpu": 3}})
    names = await team.pods(15, annotations={"run-for": f"{_RUNS_SECONDS}s"})

    async def six_have_succeeded() -> bool:
        pods = await team.all()
        return [pod["status"]["phase"] for pod in pods.values()].count("Succeeded") >= 6

    await eventually(six_have_succeeded, seconds=90, message="six pods have not succeeded")
    found = await foreseen(team, cluster)
    assert 1 <= len(found) <= 6
    pods = await team.until_bound(*names, seconds=90)
    for name, row in found.items():
        started = clock.epoch(pods[name]["metadata"]["annotations"][ADMITTED_AT])
        early, late = clock.epoch(row["p20"]) - _SLACK_SECONDS, clock.epoch(row["p90"]) + _SLACK_SECONDS
        assert early <= started <= late, (row, clock.rfc3339(started))


async def test_a_window_of_a_live_queue_is_foreseen(team: Team, cluster: Cluster) -> None:
    opens = int(clock.now() + 2 * 3600) // 3600 * 3600
    start = f"0 {opens // 3600 % 24} * * *"
    window = {"name": "later", "start": start, "duration": "1h", "timeZone": "UTC", "stopPolicy": "None"}
    await team.ready({"spot": {"cpu": 4}}, stopPolicy="Hold", schedule=[window])
    await team.pod("waits", annotations={EXPECTED_RUNTIME: "10m"})
    await team.until_waiting("waits", "QueueStopped")
    (row,) = (await foreseen(team, cluster, "pod/waits")).values()
    assert (row["p20"], row["p50"], row["p90"]) == (clock.rfc3339(opens),) * 3


@pytest.mark.more
async def test_what_a_change_is_simulated_to_do_it_does(team: Team, cluster: Cluster) -> None:
    await team.ready({"spot": {"cpu": 2}})
    await team.pods(4, "1", annotations={EXPECTED_RUNTIME: "1h"})

    async def two_wait() -> bool:
        return sum(map(is_gated, (await team.all()).values())) == 2

    await eventually(two_wait, message="two pods do not wait")
    change = f"quota:{team.full('cq')}/{team.full('spot')}/cpu=+2"
    done = await penstock(
        cluster.sandbox, "simulate", "--change", change, "--hours", "0.1", "--runs", "1", "-o", "json"
    )
    assert done.code == 0, done.errors
    document = orjson.loads(done.output)
    before, after = (document[name]["clusterQueues"][team.full("cq")] for name in ("before", "after"))
    assert (before["started"], before["waiting"]) == (0, 2)
    assert (after["started"], after["waiting"]) == (2, 0)
    quota = {"name": team.full("spot"), "resources": [{"name": "cpu", "nominalQuota": 4}]}
    await team.change("clusterqueues", team.full("cq"), {"flavors": [quota]})
    await team.until_bound(*(await team.all()))

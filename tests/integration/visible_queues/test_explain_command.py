"""`penstock explain` and `eta` by the visibility API say what they say without it, also to who sees one namespace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from controller.extension_api.paths import ROOT
from tests.integration.visible_queues.test_command import as_somebody
from tests.support.clusters import Cluster
from tests.support.command import Done, penstock
from tests.support.eventually import eventually
from tests.support.team import Team
from tests.support.viewers import Viewers, bind

pytestmark = pytest.mark.integration


async def one_runs_and_two_wait(team: Team, people: Viewers) -> None:
    """All that there is has one pod that says how long it runs."""
    await team.ready({"spot": {"cpu": 1}})
    await team.pod("first", annotations={"penstock.dev/expected-runtime": "1h"})
    await team.until_bound("first")
    await team.pod("second", annotations={"penstock.dev/expected-runtime": "1h"})
    await team.job("train")

    async def decided() -> bool:
        items = (await people.get(f"{ROOT}/namespaces/{team.namespace}/pendingworkloads")).body["items"]
        return [one["status"]["reason"] for one in items] == ["QuotaExceeded"] * 2

    await eventually(decided)


def document(done: Done) -> Any:
    assert (done.code, done.errors) == (0, ""), done
    return orjson.loads(done.output)


@pytest.mark.more
@pytest.mark.parametrize("target", ["pod/second", "job/train", "pod/first", "queue/main"])
async def test_both_ways_say_the_same(cluster: Cluster, team: Team, people: Viewers, target: str) -> None:
    await one_runs_and_two_wait(team, people)
    where = ["explain", target, "-n", team.namespace, "-o", "json"]
    by_api = document(await penstock(cluster.sandbox, *where))
    without = document(await penstock(cluster.sandbox, *where, "--without-api"))
    assert by_api == without
    if target == "pod/second":
        assert [one["admits"] for one in by_api["remedies"]] == [True, True]
        assert by_api["remedies"][0]["pods"] == [f"{team.namespace}/first"]


async def test_a_cluster_queue_is_explained(cluster: Cluster, team: Team, people: Viewers) -> None:
    await one_runs_and_two_wait(team, people)
    shown = await penstock(cluster.sandbox, "explain", f"clusterqueue/{team.full('cq')}")
    assert (shown.code, shown.errors) == (0, "")
    assert "QuotaExceeded: 2 pods, first pod/second" in shown.output


async def test_what_is_not_there_is_said(cluster: Cluster, team: Team, people: Viewers) -> None:
    await one_runs_and_two_wait(team, people)
    for target, meant in (("pod/seconds", "pod/second"), ("queue/mein", "queue/main")):
        shown = await penstock(cluster.sandbox, "explain", target, "-n", team.namespace)
        assert (shown.code, shown.output) == (1, "")
        assert shown.errors.endswith(f"did you mean {meant}?\n")


async def test_a_viewer_of_one_namespace_gets_it(cluster: Cluster, team: Team, people: Viewers, tmp_path: Path) -> None:
    await one_runs_and_two_wait(team, people)
    jane = f"jane-of-{team.id}"
    await bind(team.client, jane, "view", team.namespace)
    kubeconfig = ["--kubeconfig", str(await as_somebody(cluster, tmp_path, jane, team.namespace))]

    async def explained() -> bool:
        shown = await penstock(cluster.sandbox, "explain", "second", *kubeconfig)
        return shown.code == 0 and f"when {team.namespace}/first ends" in shown.output

    await eventually(explained)

    async def forecast() -> bool:
        found = document(await penstock(cluster.sandbox, "eta", *kubeconfig, "-o", "json"))
        assert found[0]["name"] == "second"
        return bool(found[0]["start"]["p20"])

    await eventually(forecast, message="nothing was forecast")
    pods = await penstock(cluster.sandbox, "pods", *kubeconfig, "--state", "Pending", "--no-headers")
    assert pods.output.split()[5].endswith("m")

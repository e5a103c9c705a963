"""`penstock` by the visibility API: the rows are those it finds by itself, and who may see one namespace may ask."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any, Final

import orjson
import pytest
import yaml

from controller.extension_api.paths import ROOT
from tests.support.clusters import Cluster
from tests.support.command import Done, penstock
from tests.support.eventually import eventually
from tests.support.team import Team
from tests.support.viewers import VIEWER, Viewers, bind

pytestmark = pytest.mark.integration

OF_A_DECISION: Final = frozenset({"reason", "message"})
"""By the API they are of the controller's latest decision; without, of one made here and now of all who wait."""
OF_THE_MOMENT: Final = frozenset({"used"})
"""Of shares: past usage goes on while it is read."""


OF_THE_CONTROLLER: Final = frozenset({"start"})
"""It forecasts starts; without the API `penstock eta` does that."""


def rows(done: Done) -> list[dict[str, Any]]:
    """The rows that a command has printed as JSON, without what may differ."""
    assert (done.code, done.errors) == (0, ""), done
    left_out = OF_A_DECISION | OF_THE_MOMENT | OF_THE_CONTROLLER
    return [{key: value for key, value in row.items() if key not in left_out} for row in orjson.loads(done.output)]


async def a_tree_with_a_backlog(team: Team) -> None:
    """One pod runs on all that `mine` has, in a tree that shares fairly; others wait, one in `theirs`, one in none."""
    await team.nodes("spot", cpu="8", memory="32Gi")
    await team.flavor("spot")
    await team.cluster_queue({"spot": {"cpu": 0}}, "org", fairSharing={})
    for name in ("mine", "theirs"):
        quota = {"spot": {"cpu": 1 if name == "mine" else 0}}
        await team.cluster_queue(quota, name, parent=team.full("org"))
        await team.local_queue(name, name)
    await team.pod("first", queue="mine", labels={"app": "web"})
    await team.until_bound("first")
    await team.pod("second", queue="mine", labels={"app": "web"})
    await team.pod("other", queue="theirs")
    await team.pod("lost", queue="none")
    await team.job("train", queue="mine", parallelism=2, completions=2)


async def until_known(team: Team, people: Viewers) -> None:
    """Wait until the controller has decided on the six pods of `a_tree_with_a_backlog`."""

    async def known() -> None:
        items = (await people.get(f"{ROOT}/namespaces/{team.namespace}/queuepods")).body["items"]
        states = sorted(one["status"]["state"] for one in items)
        assert states == ["Pending"] * 5 + ["Running"], states
        assert all(one["status"]["reason"] not in ("", "Pending") for one in items if one["status"]["place"]), items

    async def done() -> bool:
        await known()
        return True

    await eventually(done)


async def agree(cluster: Cluster, arguments: list[str]) -> bool:
    """Whether a command prints the same rows, and some, by the API and without it."""
    by_api, without = await asyncio.gather(
        penstock(cluster.sandbox, *arguments), penstock(cluster.sandbox, *arguments, "--without-api")
    )
    assert rows(by_api) == rows(without)
    return bool(rows(by_api))


@pytest.mark.more
async def test_both_ways_have_the_same_rows(cluster: Cluster, team: Team, people: Viewers) -> None:
    await a_tree_with_a_backlog(team)
    await until_known(team, people)
    for command in (
        "pods",
        "pods -A",
        "pods -l app=web",
        "pods --state pending --queue mine --sort-by created",
        "jobs",
        "prio",
        "share",
        "queues",
        "queues --local",
        "flavors",
        "nodes",
    ):
        arguments = [*command.split(), *([] if "-A" in command else ["-n", team.namespace]), "-o", "json"]
        # the two ask at two moments, and what tests before this one have left may go in between
        await eventually(partial(agree, cluster, arguments), message=command)


async def test_the_table_is_the_same_but_for_the_age(cluster: Cluster, team: Team, people: Viewers) -> None:
    await a_tree_with_a_backlog(team)
    await until_known(team, people)
    arguments = ["pods", "-n", team.namespace]
    by_api = await penstock(cluster.sandbox, *arguments)
    without = await penstock(cluster.sandbox, *arguments, "--without-api")
    shown = [[line.split()[:5] for line in done.output.splitlines()] for done in (by_api, without)]
    assert shown[0] == shown[1]
    assert len(shown[0]) == 7


async def as_somebody(cluster: Cluster, folder: Path, user: str, namespace: str) -> Path:
    """A kubeconfig of the administrator who acts as somebody, in a namespace."""
    document = yaml.safe_load(await asyncio.to_thread(cluster.sandbox.kubeconfig.read_text))
    (who,), (context,) = document["users"], document["contexts"]
    who["user"]["as"], context["context"]["namespace"] = user, namespace
    file = folder / f"{user}.kubeconfig"
    await asyncio.to_thread(file.write_text, yaml.safe_dump(document))
    return file


async def test_a_viewer_of_one_namespace_can_ask(cluster: Cluster, team: Team, people: Viewers, tmp_path: Path) -> None:
    await a_tree_with_a_backlog(team)
    await until_known(team, people)
    jane = f"jane-of-{team.id}"
    kubeconfig = ["--kubeconfig", str(await as_somebody(cluster, tmp_path, jane, team.namespace))]
    refused = await penstock(cluster.sandbox, "pods", *kubeconfig)
    told = f"Error: no right to list queuepods.visibility.penstock.dev in namespace {team.namespace}: ask for the "
    assert (refused.code, refused.errors) == (1, f"{told}ClusterRole view in namespace {team.namespace}\n")
    await bind(team.client, jane, "view", team.namespace)
    path = f"{ROOT}/namespaces/{team.namespace}/queuepods"

    async def readable() -> bool:
        return (await people.get(path, jane)).code == 200

    await eventually(readable)
    shown = await penstock(cluster.sandbox, "pods", *kubeconfig, "-o", "name")
    assert shown.output.split()[-1] == "pod/first"
    assert len(shown.output.split()) == 6
    listing = await penstock(cluster.sandbox, "pods", *kubeconfig, "--without-api")
    assert (listing.code, listing.output) == (1, "")
    tree = await penstock(cluster.sandbox, "queues", *kubeconfig)
    assert tree.errors.endswith(f"ask for the ClusterRole {VIEWER} in the whole cluster\n")


async def test_who_sees_figures_alone_gets_no_names(
    cluster: Cluster, team: Team, people: Viewers, tmp_path: Path
) -> None:
    await a_tree_with_a_backlog(team)
    await until_known(team, people)
    joe = f"joe-of-{team.id}"
    await bind(team.client, joe, VIEWER)
    path = f"{ROOT}/namespaces/{team.namespace}/queuepods"

    async def readable() -> bool:
        return (await people.get(path, joe)).code == 200

    await eventually(readable)
    hidden = await people.get(path, joe)
    assert hidden.names == ["(hidden)"] * 6
    assert {one["metadata"]["namespace"] for one in hidden.body["items"]} == {team.namespace}, "kubectl refuses others"
    for secret in ("first", "train", "mine"):
        assert f'"{secret}"'.encode() not in hidden.text
    kubeconfig = ["--kubeconfig", str(await as_somebody(cluster, tmp_path, joe, team.namespace))]
    there = await penstock(cluster.sandbox, "pods", *kubeconfig, "-o", "name")
    assert there.output.split() == ["pod/(hidden)"] * 6
    everywhere = await penstock(cluster.sandbox, "pods", "-A", *kubeconfig)
    assert (everywhere.code, everywhere.output) == (0, ""), "of no namespace whose pods they may not list"

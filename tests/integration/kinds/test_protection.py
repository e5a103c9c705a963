"""Nobody but the leader lets an object of a queue begin, writes our stamps on it, or changes what was admitted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from controller.core.keys import ADMITTED_JOB, CLUSTER_QUEUE, FLAVOR, QUEUE_NAME, USER
from controller.kube.client import MERGE_PATCH
from tests.integration.kinds.trains import EDITOR, GROUP, OPERATOR, Trains, a_template, is_suspended
from tests.support.impersonation import Identity, Impersonation, Reply
from tests.support.team import Json

pytestmark = pytest.mark.integration

GLASS = Identity("root", ("system:masters", "penstock:break-glass"))
QUEUED = {QUEUE_NAME: "main"}
MOVED = {QUEUE_NAME: "other"}
STAMPED = a_template("1", metadata={"labels": {FLAVOR: "x"}, "annotations": {ADMITTED_JOB: "made-up/head"}})


def a_train(name: str, head: Json | None = None, **metadata: Any) -> Json:
    spec = {"head": {"template": head or a_template("1")}, "groups": []}
    return {"apiVersion": f"{GROUP}/v1", "kind": "Train", "metadata": {"name": name, **metadata}, "spec": spec}


async def create(apiserver: Impersonation, trains: Trains, who: Identity, body: Json) -> Reply:
    return await apiserver.send(who, "POST", trains.path, body, params={"dryRun": "All"})


async def change(apiserver: Impersonation, trains: Trains, who: Identity, body: Json, sub: str = "") -> Reply:
    path = f"{trains.path}/it{sub}"
    return await apiserver.send(who, "PATCH", path, body, content_type=MERGE_PATCH, params={"dryRun": "All"})


def is_refused(reply: Reply, rule: str) -> bool:
    return reply.code == 403 and f"{rule}: " in reply.body["message"]


async def test_a_new_object_of_a_queue_is_suspended(trains: Trains, apiserver: Impersonation) -> None:
    reply = await create(apiserver, trains, EDITOR, a_train("it", labels=QUEUED))
    assert is_suspended(reply.body)
    free = await create(apiserver, trains, EDITOR, a_train("it"))
    assert not is_suspended(free.body)


@pytest.mark.parametrize(
    "body",
    [
        a_train("it", labels={**QUEUED, CLUSTER_QUEUE: "x"}),
        a_train("it", labels={CLUSTER_QUEUE: "x"}),
        a_train("it", STAMPED, labels=QUEUED),
        a_train("it", STAMPED),
    ],
    ids=["on it", "on one of no queue", "in its template", "in that of one of no queue"],
)
async def test_stamps_on_new_objects_are_refused(trains: Trains, apiserver: Impersonation, body: Json) -> None:
    assert is_refused(await create(apiserver, trains, EDITOR, body), "stamps-are-ours")


FORGED = {"annotations": {USER: "victim"}}


@pytest.mark.parametrize(
    "body",
    [a_train("it", **FORGED), a_train("it", a_template("1", metadata=FORGED), labels=QUEUED)],
    ids=["on it", "in its template"],
)
async def test_nobody_names_another_user(trains: Trains, apiserver: Impersonation, body: Json) -> None:
    assert is_refused(await create(apiserver, trains, EDITOR, body), "user-is-true")


async def test_nobody_names_another_user_later(trains: Trains, apiserver: Impersonation) -> None:
    await trains.team.ready({"cpu": {"cpu": 0}})
    await trains.make("it")
    for body in ({"metadata": FORGED}, {"spec": {"head": {"template": {"metadata": FORGED}}}}):
        assert is_refused(await change(apiserver, trains, EDITOR, body), "user-is-true")
    assert (await change(apiserver, trains, EDITOR, {"metadata": {"annotations": {"note": "x"}}})).code == 200


async def test_what_the_kind_asks_for_is_checked(trains: Trains, apiserver: Impersonation) -> None:
    train = a_train("it", labels=QUEUED)
    train["spec"]["engine"] = "steam"
    reply = await create(apiserver, trains, EDITOR, train)
    assert (reply.code, "no steam in queues" in reply.body["message"]) == (403, True)
    train["metadata"]["labels"] = {}
    assert (await create(apiserver, trains, EDITOR, train)).code == 201


def part_of(uid: str, stamp: str) -> Json:
    head = a_template("1", metadata={"labels": {FLAVOR: "x"}, "annotations": {ADMITTED_JOB: f"{stamp}/head"}})
    owner = {"apiVersion": f"{GROUP}/v1", "kind": "Train", "name": "whole", "uid": uid, "controller": True}
    return a_train("it", head, labels={**QUEUED, CLUSTER_QUEUE: "x"}, ownerReferences=[owner])


async def test_what_the_operator_makes_of_an_admitted_one_is_free(trains: Trains, apiserver: Impersonation) -> None:
    reply = await create(apiserver, trains, OPERATOR, part_of("u1", "u1"))
    assert (reply.code, is_suspended(reply.body)) == (201, False), reply.body
    assert is_refused(await create(apiserver, trains, OPERATOR, part_of("u1", "u2")), "stamps-are-ours")
    assert is_refused(await create(apiserver, trains, EDITOR, part_of("u1", "u1")), "stamps-are-ours")


OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "odd", "uid": "u1", "controller": True}
OWNED: Json = {"ownerReferences": [OWNER]}


async def test_what_another_object_controls_has_no_queue(trains: Trains, apiserver: Impersonation) -> None:
    await trains.team.ready({"cpu": {"cpu": 0}})
    reply = await create(apiserver, trains, EDITOR, a_train("it", labels=QUEUED, **OWNED))
    assert is_refused(reply, "object-is-held")
    await trains.make("it")
    assert is_refused(await change(apiserver, trains, EDITOR, {"metadata": OWNED}), "object-is-held")
    assert (await change(apiserver, trains, OPERATOR, {"metadata": OWNED})).code == 200


async def test_only_penstock_lets_one_begin(trains: Trains, apiserver: Impersonation) -> None:
    await trains.team.ready({"cpu": {"cpu": 0}})
    await trains.make("it")
    begin: Json = {"spec": {"policy": {"suspend": False}}}
    assert is_refused(await change(apiserver, trains, EDITOR, begin), "object-is-held")
    assert is_refused(await change(apiserver, trains, OPERATOR, begin), "object-is-held")
    assert is_refused(await change(apiserver, trains, EDITOR, {"spec": {"policy": None}}), "object-is-held")
    assert (await change(apiserver, trains, GLASS, begin)).code == 200
    stamp = {"spec": {"head": {"template": {"metadata": {"annotations": {ADMITTED_JOB: "u/x"}}}}}}
    labels: tuple[Json, ...] = (MOVED, {QUEUE_NAME: None}, {CLUSTER_QUEUE: "x"})
    for body in (stamp, *({"metadata": {"labels": one}} for one in labels)):
        assert is_refused(await change(apiserver, trains, EDITOR, body), "keys-are-ours")
    by_status = await change(apiserver, trains, EDITOR, {"metadata": {"labels": MOVED}}, "/status")
    assert by_status.body["metadata"]["labels"] == QUEUED
    image = {"spec": {"head": {"template": {"spec": {"containers": [{"name": "main", "image": "other"}]}}}}}
    assert (await change(apiserver, trains, EDITOR, image)).code == 200


def groups(train: Json, **changes: Mapping[str, Any]) -> Json:
    """The groups of a Train, with changes by name, and new ones."""
    there = {one["name"]: one for one in train["spec"]["groups"]}
    new = {name: {**there.get(name, {"name": name}), **change} for name, change in changes.items()}
    return {"spec": {"groups": list({**there, **new}.values())}}


async def test_what_was_admitted_stays_as_it_is(trains: Trains, apiserver: Impersonation) -> None:
    await trains.team.ready({"cpu": {"cpu": 8}})
    await trains.make("it", workers={"big": (2, a_template("1"))})
    await trains.until_runs("it", 3)
    train = await trains.get("it")
    more = a_template("4")
    for rule, body in (
        ("template-is-fixed", {"spec": {"head": {"template": {"spec": {"containers": [{"name": "a"}]}}}}}),
        ("template-is-fixed", groups(train, big={"template": {**train["spec"]["groups"][0]["template"], **more}})),
        ("no-growth", groups(train, big={"replicas": 3})),
        ("template-is-fixed", groups(train, new={"template": more, "replicas": 1})),
        ("keys-are-ours", groups(train, new={"template": train["spec"]["groups"][0]["template"], "replicas": 1})),
    ):
        reply = await change(apiserver, trains, EDITOR, body)
        assert is_refused(reply, rule), (rule, body, reply.body)
    assert (await change(apiserver, trains, EDITOR, groups(train, big={"replicas": 1}))).code == 200
    assert (await change(apiserver, trains, EDITOR, {"spec": {"policy": {"suspend": True}}})).code == 200


async def test_a_forged_pod_is_not_taken_for_an_admitted_one(trains: Trains, apiserver: Impersonation) -> None:
    owner = {"apiVersion": f"{GROUP}/v1", "kind": "Train", "name": "it", "uid": "u1", "controller": True}
    metadata = {
        "name": "forged",
        "labels": {**QUEUED, FLAVOR: "x", CLUSTER_QUEUE: "y"},
        "annotations": {ADMITTED_JOB: "u1/head"},
        "ownerReferences": [owner],
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": a_template("1")["spec"]}
    path, dry = trains.team.pods_path, {"dryRun": "All"}
    genuine = await apiserver.send(OPERATOR, "POST", path, pod, params=dry)
    assert "schedulingGates" not in genuine.body["spec"]
    forged = await apiserver.send(EDITOR, "POST", path, pod, params=dry)
    assert [gate["name"] for gate in forged.body["spec"]["schedulingGates"]] == ["penstock.dev/queue"], forged.body
    assert FLAVOR not in forged.body["metadata"]["labels"]

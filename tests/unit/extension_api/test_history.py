"""The history through the API: who sees which runs and sums, page by page, and what a database that fails comes to."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest

from controller.extension_api.authorization import Action
from controller.extension_api.pacing import Turns
from controller.extension_api.paths import ROOT
from controller.extension_api.queueing.history_reads import MOST, HistoryReads
from controller.extension_api.queueing.registry import resources
from controller.extension_api.resources import API_VERSION, Registry
from controller.forking import Forks
from controller.history.reader import Reader
from controller.history.run_store import HistoryError
from controller.history.runs import Outcome
from controller.history.wanted import FoundRun, Wanted
from controller.kube import clock
from controller.visibility.start_forecasts import StartForecasts
from tests.support.builders import a_cache
from tests.support.histories import CHARGED, a_change, a_store
from tests.support.served_api import ServedApi

DAY = 86_400


class Failing(Reader):
    """A database that fails, or hangs until it is released."""

    error = ""
    hangs = False

    def __init__(self, folder: Path) -> None:
        self.store = a_store(folder)
        super().__init__(self.store)
        self.release = threading.Event()

    def find(self, wanted: Wanted, **more: Any) -> list[FoundRun]:
        if self.error:
            raise HistoryError(self.error)
        if self.hangs:
            self.release.wait(20)
        return super().find(wanted, **more)


@pytest.fixture
def reader(tmp_path: Path) -> Failing:
    """Of team-a two runs, the second by bob; of team-b one, which ran for an hour."""
    reader, now = Failing(tmp_path), int(clock.now())
    b = replace(CHARGED, namespace="team-b", user="bob", local_queue="other")
    a = replace(CHARGED, namespace="team-a")
    reader.store.write(
        [
            a_change(
                "a-1",
                charged_to=a,
                created=now - 3 * DAY,
                started=now - 2 * DAY,
                ended=now - 2 * DAY + 3600,
                outcome=Outcome.SUCCEEDED,
            ),
            a_change("a-2", charged_to=replace(a, user="bob"), created=now - DAY),
            a_change("b-1", charged_to=b, created=now - DAY, started=now - DAY, ended=now - DAY + 3600),
            a_change("old", charged_to=a, created=now - 30 * DAY, started=now - 30 * DAY, ended=now - 29 * DAY),
        ]
    )
    return reader


def registry(reader: Reader | None, seconds: float = 20.0) -> Registry:
    reads = None if reader is None else HistoryReads(reader, seconds=seconds)
    return resources(a_cache(), StartForecasts(), Turns(), Forks(1), history=reads)


@pytest.fixture
def served(tmp_path: Path) -> ServedApi:
    return ServedApi(tmp_path)


async def names(served: ServedApi, session: aiohttp.ClientSession, path: str) -> list[str]:
    code, body = await served.get(session, f"{ROOT}{path}")
    assert code == 200, body
    assert {one["kind"] for one in body["items"]} <= {"PodRun"}
    return [one["metadata"]["name"] for one in body["items"]]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["a-2", "a-1"]),
        ("from=40d", ["a-2", "a-1", "old"]),
        ("from=40d&to=10d", ["old"]),
        ("user=bob", ["a-2"]),
        ("user=bob&user=ann", ["a-2", "a-1"]),
        ("queue=other", []),
        ("state=Pending", ["a-2"]),
        ("state=Pending&state=Succeeded", ["a-2", "a-1"]),
        ("target=pod/a-1", ["a-1"]),
        ("target=a-2", ["a-2"]),
        ("target=job/a-1", []),
    ],
)
async def test_runs_of_a_namespace_are_chosen(
    reader: Failing, served: ServedApi, query: str, expected: list[str]
) -> None:
    async with served.serve(registry(reader)) as session:
        assert await names(served, session, f"/namespaces/team-a/podruns?{query}") == expected


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("from=yesterday", "parameter from=yesterday: write 2026-11-01, "),
        ("from=1d&from=2d", "parameter from stands there 2 times; write it once"),
        ("state=Done", "parameter state=Done: choose one of Pending, Admitted, Running, Succeeded, "),
        ("flavor=spot", "parameter flavor=spot is not supported; leave it out"),
        ("fieldSelector=user%3Dbob", "parameter fieldSelector=user=bob is not supported; leave it out"),
    ],
)
async def test_what_cannot_be_chosen_by_is_refused(reader: Failing, served: ServedApi, query: str, told: str) -> None:
    async with served.serve(registry(reader)) as session:
        code, body = await served.get(session, f"{ROOT}/namespaces/team-a/podruns?{query}")
    assert (code, body["message"][: len(told)]) == (400, told)


async def test_pages_go_on_behind_the_last_run(reader: Failing, served: ServedApi) -> None:
    found, more = [], ""
    async with served.serve(registry(reader)) as session:
        for _ in range(4):
            _, body = await served.get(session, f"{ROOT}/podruns?from=40d&limit=1{more}")
            found += [one["metadata"]["name"] for one in body["items"]]
            more = f"&continue={quote(body['metadata'].get('continue', ''))}"
        assert more == "&continue="
        assert sorted(found) == ["a-1", "a-2", "b-1", "old"]
        assert found[2:] == ["a-1", "old"]


async def test_no_answer_has_more_than_500_runs(reader: Failing, served: ServedApi) -> None:
    now = int(clock.now())
    many = [a_change(f"m-{number}", created=now - 60) for number in range(520)]
    await asyncio.to_thread(reader.store.write, many)
    async with served.serve(registry(reader)) as session:
        _, body = await served.get(session, f"{ROOT}/namespaces/default/podruns")
        assert len(body["items"]) == 500
        end = quote(body["metadata"]["continue"])
        _, rest = await served.get(session, f"{ROOT}/namespaces/default/podruns?continue={end}")
    assert (len(rest["items"]), "continue" in rest["metadata"]) == (20, False)


async def test_one_run_is_found_by_the_uid_of_its_pod(reader: Failing, served: ServedApi) -> None:
    async with served.serve(registry(reader)) as session:
        code, body = await served.get(session, f"{ROOT}/namespaces/team-a/podruns/old")
        assert (code, body["status"]["name"], body["status"]["ran"]) == (200, "old", DAY)
        assert body["metadata"] == {"name": "old", "namespace": "team-a"}
        code, _ = await served.get(session, f"{ROOT}/namespaces/team-b/podruns/old")
        assert code == 404


async def test_runs_of_namespaces_that_are_hidden_are_not_there(reader: Failing, served: ServedApi) -> None:
    served.authorizer.hidden = frozenset({"team-b"})
    async with served.serve(registry(reader)) as session:
        assert await names(served, session, "/podruns") == ["a-2", "a-1"]
        for path in ("podruns", "podruns/b-1"):
            code, body = await served.get(session, f"{ROOT}/namespaces/team-b/{path}")
            assert (code, body["reason"]) == (403, "Forbidden")
        served.authorizer.hidden = frozenset({"team-a", "team-b"})
        assert await names(served, session, "/podruns") == []


def a_report(kind: str = "UsageReport", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": kind, "spec": {"from": "7d", **spec}}


async def post(served: ServedApi, session: aiohttp.ClientSession, path: str, document: dict[str, Any]) -> Any:
    return await served.get(session, f"{ROOT}{path}", method="POST", json=document)


async def test_usage_of_a_namespace_is_its_own(reader: Failing, served: ServedApi) -> None:
    async with served.serve(registry(reader)) as session:
        document = a_report(by=["namespace", "user"])
        code, body = await post(served, session, "/namespaces/team-a/usagereports", document)
        assert code == 201, body
        assert body["metadata"] == {"namespace": "team-a"}
        (row,) = body["status"]["rows"]
        assert (row["by"], row["runs"], row["hours"]) == ({"namespace": "team-a", "user": "ann"}, 1, {"cpu": "2"})
        served.authorizer.hidden = frozenset({"team-a"})
        code, body = await post(served, session, "/namespaces/team-a/usagereports", document)
        assert (code, body["reason"]) == (403, "Forbidden")
        code, _ = await post(served, session, "/usagereports", document)
        assert code == 405


async def test_usage_of_the_cluster_is_of_all(reader: Failing, served: ServedApi) -> None:
    served.authorizer.hidden = frozenset({"team-a", "team-b"})
    async with served.serve(registry(reader)) as session:

        async def used(**spec: Any) -> dict[str, str]:
            document = a_report("ClusterUsageReport", by=["namespace"], **spec)
            code, body = await post(served, session, "/clusterusagereports", document)
            assert code == 201, body
            return {row["by"]["namespace"]: row["hours"]["cpu"] for row in body["status"]["rows"]}

        assert await used() == {"team-a": "2", "team-b": "2"}
        assert await used(namespaces=["team-b"]) == await used(users=["bob"]) == {"team-b": "2"}
        assert await used(**{"from": "40d"}) == {"team-a": "50", "team-b": "2"}
        assert await used(queues=["other"]) == await used(flavors=["none"]) == {}
        served.authorizer.denied = Action.ours("create", "clusterusagereports", "", "", "")
        code, body = await post(served, session, "/clusterusagereports", a_report("ClusterUsageReport"))
        assert (code, body["message"].rpartition("; ")[2]) == (
            403,
            "ask for the ClusterRole penstock-visibility-accountant",
        )


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"from": "then"}, "spec.from: Invalid value: 'then': write 2026-11-01, "),
        ({"from": "2026-11-02", "to": "2026-11-01"}, "spec.to: Invalid value: '2026-11-01': is not after spec.from, "),
        ({"by": ["team"]}, "spec.by[0]: Unsupported value: 'team': choose one of namespace, localQueue, "),
        ({"by": ["label:a b"]}, "spec.by[0]: Unsupported value: 'label:a b': choose one of namespace, localQueue, "),
        ({"by": []}, "spec.by: Invalid value: []: expected array of length >= 1: Sums by these: "),
        ({"per": "year"}, "spec.per: Unsupported value: 'year': choose one of day, week, month"),
        ({"per": "day", "from": "500d"}, "spec.per: this time has more than 400 of a day: choose longer ones"),
        ({"zone": "Mars"}, "spec.zone: Invalid value: 'Mars': is no zone of IANA; write it as Europe/Berlin"),
        ({"namespaces": ["team-b"]}, "spec.namespaces: unknown field; there are from, to, by, per, zone, "),
    ],
)
async def test_what_cannot_be_added_up_is_refused(
    reader: Failing, served: ServedApi, spec: dict[str, Any], told: str
) -> None:
    async with served.serve(registry(reader)) as session:
        code, body = await post(served, session, "/namespaces/team-a/usagereports", a_report(**spec))
    assert (code, told in body["message"]) == (422, True), body


async def test_more_rows_than_an_answer_has_are_refused(
    reader: Failing, served: ServedApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("controller.extension_api.queueing.usage_reports.MOST_ROWS", 1)
    async with served.serve(registry(reader)) as session:
        document = a_report("ClusterUsageReport", by=["namespace"])
        code, body = await post(served, session, "/clusterusagereports", document)
    assert (code, "spec.by: 2 rows are more than 1: sum by less, or of less" in body["message"]) == (422, True)


async def test_days_are_those_of_the_zone(reader: Failing, served: ServedApi) -> None:
    spec = {"from": "2026-03-01", "to": "2026-03-03", "per": "day", "zone": "Asia/Tokyo"}
    begin = 1_772_290_800  # 2026-02-28T15:00:00Z, midnight of 1 March in Tokyo
    await asyncio.to_thread(
        reader.store.write, [a_change("r", created=begin, started=begin + 10 * 3600, ended=begin + 25 * 3600)]
    )
    async with served.serve(registry(reader)) as session:
        _, body = await post(served, session, "/clusterusagereports", a_report("ClusterUsageReport", **spec))
    days = [(row["begin"], row["hours"]["cpu"]) for row in body["status"]["rows"]]
    assert days == [("2026-03-01T00:00:00Z", "28"), ("2026-03-01T15:00:00Z", "2")]


async def test_a_database_that_fails_is_no_secret_told(reader: Failing, served: ServedApi) -> None:
    """Its address stays in the log; who asks gets a sentence, and asks again."""
    reader.error = "postgresql://db.internal/penstock: connection refused"
    async with served.serve(registry(reader)) as session:
        code, body = await served.get(session, f"{ROOT}/podruns")
        assert (code, body["details"]["retryAfterSeconds"]) == (503, 2)
        assert body["message"].startswith("the history cannot be read: its database does not answer, or not in time")
        reader.error = ""
        assert await names(served, session, "/podruns") != []


async def test_a_database_that_hangs_holds_up_nobody_else(reader: Failing, served: ServedApi) -> None:
    reader.hangs = True
    async with served.serve(registry(reader, seconds=0.1)) as session:
        code, _ = await served.get(session, f"{ROOT}/podruns")
        assert code == 503
        code, _ = await served.get(session, f"{ROOT}/clusterqueues")
        assert code == 200
        reader.hangs = False
        reader.release.set()
        async with asyncio.timeout(20):
            while (await served.get(session, f"{ROOT}/podruns"))[0] != 200:
                continue


async def test_no_more_than_a_few_wait_for_the_database(reader: Failing, served: ServedApi) -> None:
    """The places of all answers would be taken otherwise."""
    reader.hangs = True
    async with served.serve(registry(reader)) as session, asyncio.TaskGroup() as group:
        path = f"{ROOT}/namespaces/team-a/podruns"
        asked = [group.create_task(served.get(session, path), name="reads") for _ in range(MOST + 1)]
        (refused,), waiting = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        code, body = refused.result()
        assert (code, body["message"]) == (429, f"{MOST} others read the history; try again later")
        code, _ = await served.get(session, f"{ROOT}/clusterqueues")
        assert code == 200
        reader.release.set()
        assert [(await one)[0] for one in waiting] == [200] * MOST


async def test_without_a_history_it_is_said_how_to_enable_it(served: ServedApi) -> None:
    async with served.serve(registry(None)) as session:
        _, found = await served.get(session, ROOT)
        assert not {"podruns", "usagereports"} & {one["name"] for one in found["resources"]}
        for path in ("/podruns", "/namespaces/team-a/podruns", "/namespaces/team-a/podruns/a"):
            code, body = await served.get(session, f"{ROOT}{path}")
            assert (code, body["message"].partition(": ")[2]) == (
                404,
                "podruns: the controller keeps no history; its option --history enables one",
            )
        code, body = await post(served, session, "/clusterusagereports", a_report("ClusterUsageReport"))
        assert (code, "its option --history enables one" in body["message"]) == (404, True)


async def test_clients_learn_the_parameters(reader: Failing, served: ServedApi) -> None:
    async with served.serve(registry(reader)) as session:
        _, found = await served.get(session, f"/openapi/v3/apis/{API_VERSION}")
        operation = found["paths"][f"{ROOT}/namespaces/{{namespace}}/podruns"]["get"]
        assert [one["name"] for one in operation["parameters"]] == ["from", "to", "queue", "user", "state", "target"]
        spec = found["components"]["schemas"]["dev.penstock.visibility.v1alpha1.spec.UsageReportSpec"]
        assert {"from", "to", "by", "per"} <= set(spec["properties"])

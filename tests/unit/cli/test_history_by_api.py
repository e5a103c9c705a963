"""`penstock usage`, `history` and `audit` by the visibility API: what is asked, and what is said where it fails."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
import orjson
import pytest
from rich.console import Console

from controller.cli.main import run
from controller.cli.visibility_client import VisibilityClient
from controller.extension_api.paths import ROOT
from controller.extension_api.queueing.usage_reports import UsageReportRow
from controller.history.run_rows import run_row
from controller.history.usage_rows import UsageRow
from controller.history.used import Used
from controller.history.wanted import FoundRun
from controller.kube.errors import Forbidden, Invalid, NotFound, ServerError
from tests.support.fake_client import FakeClient, Outcome
from tests.support.histories import a_run

USED = UsageRow(
    "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z", {"user": "ann", "label:team": ""}, 2, {"cpu": "3"}, "0.1"
)
REPORT = msgspec.json.encode({"status": UsageReportRow(USED.begin, USED.end, [USED])})
SPAN = ["--from", "2026-11-01", "--to", "2026-12-01"]
ASKED = {"from": "2026-11-01T00:00:00Z", "to": "2026-12-01T00:00:00Z"}


class Api:
    """The API of a cluster, in place of that of the kubeconfig."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fake = FakeClient()
        monkeypatch.setattr("controller.cli.history_source.visibility_client", self._client)
        monkeypatch.delenv("PENSTOCK_HISTORY", raising=False)

    @asynccontextmanager
    async def _client(self, *_: object) -> AsyncIterator[VisibilityClient]:
        yield VisibilityClient(self.fake.as_client, Console(quiet=True).status(""), patience=0.0)

    @property
    def paths(self) -> list[str]:
        return [urlsplit(call.path).path.removeprefix(ROOT) for call in self.fake.calls]

    @property
    def queries(self) -> list[list[tuple[str, str]]]:
        return [parse_qsl(urlsplit(call.path).query) for call in self.fake.calls]


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    return Api(monkeypatch)


def page(*names: str, end: str = "") -> bytes:
    """Runs that were created at seconds like their names, such as a-70."""
    rows = [run_row(FoundRun(a_run(one, created=int(one.partition("-")[2])), (0, 0), {}), 100) for one in names]
    return msgspec.json.encode({"items": [{"status": row} for row in rows], "metadata": {"continue": end}})


@pytest.mark.parametrize(
    ("arguments", "path", "kind", "spec"),
    [
        (["-n", "team-a"], "/namespaces/team-a/usagereports", "UsageReport", {"by": ["clusterQueue"]}),
        ([], "/clusterusagereports", "ClusterUsageReport", {"by": ["clusterQueue"]}),
        (
            ["-n", "a", "-n", "b", "--by", "user", "--by", "label:team", "--user", "ann"],
            "/clusterusagereports",
            "ClusterUsageReport",
            {"by": ["user", "label:team"], "namespaces": ["a", "b"], "users": ["ann"]},
        ),
        (
            ["-n", "a", "--per", "week", "--zone", "Europe/Berlin", "--queue", "q", "--flavor", "f"],
            "/namespaces/a/usagereports",
            "UsageReport",
            {"by": ["clusterQueue"], "per": "week", "zone": "Europe/Berlin", "queues": ["q"], "flavors": ["f"]},
        ),
    ],
)
def test_usage_is_asked_of_the_namespace_or_of_all(
    api: Api,
    arguments: list[str],
    path: str,
    kind: str,
    spec: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    api.fake.will("POST", REPORT)
    assert run(["usage", *SPAN, *arguments, "-o", "json"]) == 0
    assert orjson.loads(capsys.readouterr().out) == [msgspec.to_builtins(USED)]
    (call,) = api.fake.calls
    assert (api.paths, call.body["kind"], call.body["spec"]) == ([path], kind, {**ASKED, **spec})


def test_what_it_cannot_be_summed_by_is_refused(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["usage", "--by", "team"]) == 2
    assert "choose of namespace, localQueue, clusterQueue, flavor, user, or label:KEY" in capsys.readouterr().err


def test_runs_are_listed_to_the_last_page(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    api.fake.will("GET", page("a-90", "a-80", end="more"), page("a-70"))
    chosen = ["--user", "ann", "--user", "bob", "--queue", "main", "--state", "Failed"]
    assert run(["history", "job/train", "-n", "team-a", *SPAN, *chosen, "-o", "name"]) == 0
    assert capsys.readouterr().out.split() == ["pod/a-90", "pod/a-80", "pod/a-70"]
    assert api.paths == ["/namespaces/team-a/podruns"] * 2
    named = [("queue", "main"), ("user", "ann"), ("user", "bob"), ("state", "Failed"), ("target", "job/train")]
    asked = [*ASKED.items(), *named, ("limit", "500")]
    assert api.queries == [asked, [*asked, ("continue", "more")]]


def test_no_more_runs_are_listed_than_wanted(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    api.fake.will("GET", page("a-90", "a-80", end="more"))
    assert run(["history", *SPAN, "--limit", "2", "-o", "name"]) == 0
    printed = capsys.readouterr()
    assert printed.out.split() == ["pod/a-90", "pod/a-80"]
    assert printed.err == "the latest 2 pods are shown; there may be more: see --limit\n"
    assert (api.paths, api.queries[0][-1]) == (["/podruns"], ("limit", "2"))


def test_runs_of_namespaces_are_in_one_order(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    api.fake.will("GET", page("a-90", "a-70"), page("b-80", "b-60"))
    assert run(["history", *SPAN, "-n", "a", "-n", "b", "--limit", "3", "-o", "name"]) == 0
    assert capsys.readouterr().out.split() == ["pod/a-90", "pod/b-80", "pod/a-70"]
    assert api.paths == ["/namespaces/a/podruns", "/namespaces/b/podruns"]


def test_what_was_used_is_of_the_runs_that_are_listed(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    used = Used(10, {"cpu": 5000}, {"cpu": 900})
    row = run_row(FoundRun(a_run(owner_kind="Job", owner="train"), (0, 0), {}, used), 100)
    api.fake.will("GET", msgspec.json.encode({"items": [{"status": row}], "metadata": {}}))
    assert run(["eff", "job/train", "-n", "team-a", *SPAN, "--limit", "1", "-o", "csv"]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines()[1] == "default,Job/train,1,10,cpu,2,500m,900m,25%,1040m"
    assert printed.err == "only the latest 1 pods are counted; there may be more: see --limit\n"
    assert (api.paths, api.queries[0][2:]) == (
        ["/namespaces/team-a/podruns"],
        [("target", "job/train"), ("limit", "1")],
    )


def test_where_nothing_was_sampled_it_says_so(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    api.fake.will("GET", page("a-90"), page())
    for told in ("No pod was sampled", "No such pod was there"):
        assert run(["eff", *SPAN]) == 0
        assert capsys.readouterr().err == f"{told} from {ASKED['from']} to {ASKED['to']}.\n"


def test_an_audit_asks_for_all_time(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    api.fake.will("GET", page("a-90"))
    assert run(["audit", "a-90", "-n", "team-a"]) == 0
    assert capsys.readouterr().out.startswith("pod/a-90 in namespace default: Pending\n")
    assert api.queries[0][0] == ("from", "1970-01-01T00:00:00Z")
    assert ("target", "pod/a-90") in api.queries[0]


FORBIDDEN = Forbidden(
    403,
    "Forbidden",
    'clusterusagereports.visibility.penstock.dev is forbidden: User "jane" cannot create resource '
    '"clusterusagereports" in API group "visibility.penstock.dev" at the cluster scope',
)
NAMED = "--history URL (or PENSTOCK_HISTORY) reads its database"


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (
            NotFound(404, "", "404 page not found"),
            "the cluster serves no history: its controllers need --history and the visibility API "
            f"(docs/history.md); {NAMED}",
        ),
        (
            FORBIDDEN,
            "no right to create clusterusagereports.visibility.penstock.dev in the whole cluster: ask for the "
            "ClusterRole penstock-visibility-accountant in the whole cluster; -n NAME asks about one namespace",
        ),
        (
            ServerError(503, "ServiceUnavailable", "the history cannot be read"),
            f"503 ServiceUnavailable: the history cannot be read; {NAMED}",
        ),
        (
            Invalid(422, "Invalid", 'ClusterUsageReport.visibility.penstock.dev "" is invalid: spec.per: too many'),
            "--per: too many",
        ),
    ],
)
def test_a_refusal_says_what_to_do(api: Api, outcome: Outcome, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    api.fake.will("POST", outcome).will("GET", b"{}")
    assert run(["usage", *SPAN]) == 1
    assert capsys.readouterr().err == f"Error: {told}\n"

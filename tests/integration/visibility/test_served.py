"""A sample API through the real apiserver: discovery, lists by pages, tables, refusals."""

from __future__ import annotations

import pytest

from controller.extension_api.paths import GROUP_PATH, ROOT
from controller.extension_api.resources import API_VERSION, GROUP
from tests.integration.visibility.conftest import Served
from tests.support.eventually import eventually
from tests.support.sample_api import ticket
from tests.support.viewers import AGGREGATED_DISCOVERY, TABLE

pytestmark = pytest.mark.integration


async def test_the_apiserver_discovers_the_resources(sample: Served) -> None:
    async def discovered() -> dict[str, list[str]]:
        groups = (await sample.viewers.get("/apis", accept=AGGREGATED_DISCOVERY)).body["items"]
        (version,) = next(one for one in groups if one["metadata"]["name"] == GROUP)["versions"]
        assert version["freshness"] == "Current"
        return {one["resource"]: one["verbs"] for one in version["resources"]}

    assert await eventually(discovered) == {"lines": ["get", "list"], "tickets": ["get", "list"]}
    found = (await sample.viewers.get(ROOT)).body["resources"]
    assert [one["name"] for one in found] == ["lines", "lines/tickets", "tickets"]
    assert found[2]["shortNames"] == ["tk"]
    assert (await sample.viewers.get(GROUP_PATH)).body["preferredVersion"]["groupVersion"] == API_VERSION


async def test_the_apiserver_publishes_the_schemas(sample: Served) -> None:
    async def published() -> bool:
        path = (await sample.viewers.get("/openapi/v3")).body["paths"][f"apis/{API_VERSION}"]["serverRelativeURL"]
        schemas = (await sample.viewers.get(path.partition("?")[0])).body["components"]["schemas"]
        fields = schemas["dev.penstock.visibility.v1alpha1.Ticket"]["properties"]
        (row,) = fields["status"]["allOf"]
        assert set(schemas[row["$ref"].rpartition("/")[2]]["properties"]) == {"place", "aheadOf"}
        return set(fields) == {"apiVersion", "kind", "metadata", "status"}

    await eventually(published, message="no OpenAPI v3")

    async def merged() -> bool:
        whole = (await sample.viewers.get("/openapi/v2")).body
        return f"{ROOT}/tickets" in whole["paths"]

    await eventually(merged, message="no OpenAPI v2")


async def test_a_list_comes_by_pages(sample: Served) -> None:
    sample.api.tickets = [ticket("default", f"t{number}", number) for number in range(5)]
    first = await sample.viewers.get(f"{ROOT}/tickets", parameters={"limit": "2"})
    assert first.names == ["t0", "t1"]
    known = first.body["metadata"]
    assert known["remainingItemCount"] == 3
    going_on = {"continue": known["continue"]}
    rest = await sample.viewers.get(f"{ROOT}/tickets", parameters=going_on)
    assert rest.names == ["t2", "t3", "t4"]
    assert "continue" not in rest.body["metadata"]
    other = await sample.viewers.get(f"{ROOT}/namespaces/default/tickets", parameters=going_on)
    assert (other.code, other.body["reason"]) == (400, "BadRequest")


async def test_kubectl_gets_tables(sample: Served) -> None:
    sample.api.tickets = [ticket("default", "first", 1)]
    table = (await sample.viewers.get(f"{ROOT}/tickets", accept=TABLE)).body
    assert (table["kind"], [one["name"] for one in table["columnDefinitions"]]) == ("Table", ["Name", "Place"])
    (row,) = table["rows"]
    assert row["cells"] == ["first", 1]
    assert row["object"]["metadata"] == {"name": "first", "namespace": "default"}
    single = await sample.viewers.get(f"{ROOT}/namespaces/default/tickets/first", accept=TABLE)
    assert [one["cells"] for one in single.body["rows"]] == [["first", 1]]


@pytest.mark.parametrize(
    ("path", "parameters", "code", "reason"),
    [
        ("/namespaces/default/tickets/none", {}, 404, "NotFound"),
        ("/nothing", {}, 404, "NotFound"),
        ("/lines/none/tickets", {}, 404, "NotFound"),
        ("/tickets", {"labelSelector": "a=b"}, 400, "BadRequest"),
        ("/tickets", {"limit": "many"}, 400, "BadRequest"),
        ("/tickets", {"watch": "true"}, 405, "MethodNotAllowed"),
    ],
)
async def test_what_is_not_served_is_refused_as_by_kubernetes(
    sample: Served, path: str, parameters: dict[str, str], code: int, reason: str
) -> None:
    reply = await sample.viewers.get(f"{ROOT}{path}", parameters=parameters)
    assert (reply.code, reply.body["kind"], reply.body["reason"]) == (code, "Status", reason)


async def test_only_json_is_served(sample: Served) -> None:
    reply = await sample.viewers.get(f"{ROOT}/tickets", accept="application/yaml")
    assert (reply.code, reply.body["reason"]) == (406, "NotAcceptable")

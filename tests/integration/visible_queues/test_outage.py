"""While nobody answers the API no namespace goes; docs/visibility-api.md says what frees them."""

from __future__ import annotations

import secrets

import orjson
import pytest

from controller.extension_api.paths import ROOT
from controller.extension_api.registration import API_SERVICE
from controller.extension_api.resources import GROUP
from controller.kube.client import Client
from tests.support.clusters import Cluster, serve_again
from tests.support.documented import commands
from tests.support.eventually import eventually
from tests.support.existence import until_gone
from tests.support.viewers import AGGREGATED_DISCOVERY, Viewers

pytestmark = pytest.mark.integration


async def a_namespace(client: Client) -> str:
    name = f"test-{secrets.token_hex(4)}"
    await client.post("/api/v1/namespaces", {"metadata": {"name": name}})
    return name


async def keeps_it(client: Client, namespace: str) -> str:
    """Why a namespace that was deleted is still there."""
    status = orjson.loads(await client.get(f"/api/v1/namespaces/{namespace}"))["status"]
    (why,) = (one for one in status["conditions"] if one["type"] == "NamespaceDeletionDiscoveryFailure")
    assert why["status"] == "True"
    return str(why["message"])


async def is_missed(people: Viewers) -> bool:
    """Whether the apiserver knows that nobody answers: it looks once a minute at what kinds there are."""
    groups = (await people.get("/apis", accept=AGGREGATED_DISCOVERY)).body["items"]
    (version,) = next(one for one in groups if one["metadata"]["name"] == GROUP)["versions"]
    return bool(version["freshness"] == "Stale")


async def test_removing_the_api_service_frees_namespaces(cluster: Cluster, client: Client, people: Viewers) -> None:
    assert orjson.loads(await client.get(ROOT))["kind"] == "APIResourceList"
    before = await a_namespace(client)
    await client.delete(f"/api/v1/namespaces/{before}")
    await until_gone(client, f"/api/v1/namespaces/{before}")

    cluster.programs.controller.kill()
    await eventually(lambda: is_missed(people), seconds=120, message="the apiserver does not miss the API")
    stuck = await a_namespace(client)
    await client.delete(f"/api/v1/namespaces/{stuck}")
    assert "visibility.penstock.dev/v1alpha1" in await eventually(lambda: keeps_it(client, stuck), seconds=90)

    await client.delete(API_SERVICE)
    await until_gone(client, f"/api/v1/namespaces/{stuck}", seconds=90)

    await serve_again(cluster)
    assert orjson.loads(await client.get(ROOT))["kind"] == "APIResourceList"


def test_the_page_names_what_frees_them() -> None:
    name = API_SERVICE.rpartition("/")[2]
    told = [command for _, command in commands("visibility-api.md", leaving_out="(nothing)")]
    assert f"kubectl delete apiservice {name}" in told

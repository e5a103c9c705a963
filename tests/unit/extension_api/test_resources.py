"""The registry, paths, tables and schemas of a sample API."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from controller.extension_api import openapi
from controller.extension_api.bodies import SentMetadata
from controller.extension_api.paths import ROOT, read_path
from controller.extension_api.resources import Registry
from controller.extension_api.statuses import Refused, not_found
from controller.extension_api.tables import age
from tests.support.sample_api import SampleApi
from tests.support.sample_creation import Doubler

REGISTRY = SampleApi().registry()
CREATED = Doubler().registry()


@pytest.mark.parametrize(
    ("path", "resource", "namespace", "name", "verb", "is_list"),
    [
        ("/lines", "lines", "", "", "list", True),
        ("/lines/main", "lines", "", "main", "get", False),
        ("/lines/main/tickets", "lines/tickets", "", "main", "get", True),
        ("/tickets", "tickets", "", "", "list", True),
        ("/namespaces/a/tickets", "tickets", "a", "", "list", True),
        ("/namespaces/a/tickets/one", "tickets", "a", "one", "get", False),
    ],
)
def test_a_path_says_what_is_asked(
    path: str, resource: str, namespace: str, name: str, verb: str, is_list: bool
) -> None:
    target = read_path(ROOT + path, REGISTRY)
    found = (target.resource.path, target.namespace, target.name, target.verb, target.is_list)
    assert found == (resource, namespace, name, verb, is_list)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/none",
        "/tickets/one",
        "/lines/main/none",
        "/lines/main/tickets/one",
        "/namespaces/a",
        "/namespaces/a/lines",
        "/namespaces/a/tickets/one/more",
    ],
)
def test_a_path_of_nothing_is_not_found(path: str) -> None:
    with pytest.raises(Refused) as caught:
        read_path(ROOT + path, REGISTRY)
    assert caught.value.code == 404


def test_a_registry_is_refused_that_is_not_clear() -> None:
    lines, of_line, tickets = REGISTRY.all
    with pytest.raises(ValueError, match="two resources are called tickets"):
        Registry((lines, tickets, tickets))
    with pytest.raises(ValueError, match="lines/tickets comes before"):
        Registry((of_line, lines))


def test_verbs_are_what_is_answered() -> None:
    lines, of_line, _ = REGISTRY.all
    assert lines.verbs == ("get", "list")
    assert of_line.verbs == ("get",)
    assert replace(lines, list=None).verbs == ("get",)
    assert replace(lines, create=CREATED.all[0].create).verbs == ("create", "get", "list")


class Odd(msgspec.Struct, rename="camel"):
    """Fields whose names mean something in a schema.

    Broken
    into lines.
    """

    title: str
    default: str | None = None
    nullable: dict[str, str] = {}


def schemas(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document.get("definitions") or document["components"]["schemas"]
    return found


@pytest.mark.parametrize("version", [openapi.version_2, openapi.version_3])
def test_fields_keep_their_names_in_schemas(version: Any) -> None:
    lines = REGISTRY.all[0]
    found = schemas(version(Registry([replace(lines, item=Odd)])))
    row = found["dev.penstock.visibility.v1alpha1.status.Odd"]
    assert set(row["properties"]) == {"title", "default", "nullable"}
    assert row["description"] == "Fields whose names mean something in a schema.\n\nBroken into lines."
    assert "anyOf" not in str(row)
    assert row["properties"]["default"].get("nullable") is (True if version is openapi.version_3 else None)


@pytest.mark.parametrize("version", [openapi.version_2, openapi.version_3])
@pytest.mark.parametrize("registry", [REGISTRY, CREATED])
def test_every_reference_leads_somewhere(version: Any, registry: Registry) -> None:
    document = version(registry)
    text = msgspec.json.encode(document).decode()
    targets = {part.partition('"')[0].rpartition("/")[2] for part in text.split('"$ref":"')[1:]}
    assert targets
    assert targets <= schemas(document).keys()


def test_every_operation_has_a_name_of_its_own() -> None:
    paths = openapi.version_3(REGISTRY)["paths"]
    names = [one["get"]["operationId"] for one in paths.values()]
    assert len(set(names)) == len(names) == 6


@pytest.mark.parametrize("version", [openapi.version_2, openapi.version_3])
def test_what_is_sent_has_a_schema(version: Any) -> None:
    document = version(CREATED)
    assert {path: set(one) for path, one in document["paths"].items()} == {f"{ROOT}/doublings": {"post"}}
    sent = document["paths"][f"{ROOT}/doublings"]["post"]
    assert sent["responses"].keys() == {"201"}
    body = sent["parameters"][0] if version is openapi.version_2 else sent["requestBody"]["content"]["application/json"]
    name = body["schema"]["$ref"].rpartition("/")[2]
    fields = schemas(document)[name]["properties"]
    assert set(fields) == {"apiVersion", "kind", "metadata", "spec", "status"}
    known = {one.encode_name for one in msgspec.structs.fields(SentMetadata)}
    assert set(fields["metadata"]["properties"]) == known
    spec = schemas(document)["dev.penstock.visibility.v1alpha1.spec.DoublingSpec"]
    assert spec["properties"]["number"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 9,
        "description": "a number from 1 to 9",
    }
    assert "additionalProperties" not in spec


@pytest.mark.parametrize(("seconds", "told"), [(0, "0s"), (119, "119s"), (120, "2m"), (7_200, "2h"), (200_000, "2d")])
def test_an_age_is_written_as_kubectl_does(seconds: int, told: str) -> None:
    assert age("2026-11-27T12:00:00Z", 1_795_780_800 + seconds) == told


def test_a_refusal_is_a_status_object() -> None:
    assert not_found("tickets", "one").status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'tickets "one" not found',
        "reason": "NotFound",
        "code": 404,
    }
    assert Refused(503, "soon", retry_seconds=1).status()["details"] == {"retryAfterSeconds": 1}

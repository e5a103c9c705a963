"""What is sent is read as it stands: a fault is told by the path of its field, its value, and what may stand there."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from controller.extension_api.bodies import SentMetadata, read_sent
from controller.extension_api.resources import API_VERSION
from controller.extension_api.statuses import Refused
from tests.support.sample_creation import Doubler, DoublingSpec

RESOURCE = Doubler().resource()


def an_object(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": "Doubling", "spec": {"number": 2}, **fields}


def refused(body: object) -> Refused:
    with pytest.raises(Refused) as caught:
        read_sent(RESOURCE, DoublingSpec, body if isinstance(body, bytes) else orjson.dumps(body))
    return caught.value


def test_an_object_is_read() -> None:
    metadata = {"name": "mine", "labels": {"a": "b"}, "creationTimestamp": None}
    sent = read_sent(RESOURCE, DoublingSpec, orjson.dumps(an_object(metadata=metadata, status={})))
    assert sent.metadata == SentMetadata(name="mine", labels={"a": "b"})
    assert sent.spec == DoublingSpec(number=2)


@pytest.mark.parametrize(
    ("fields", "field", "told"),
    [
        ({"spec": {"number": 10}}, "spec.number", "Invalid value: 10: expected int <= 9: a number from 1 to 9"),
        ({"spec": {"number": "1"}}, "spec.number", 'Invalid value: "1": expected int, got str: a number from 1 to 9'),
        ({"spec": {"number": 1, "texts": ["a", 2]}}, "spec.texts[1]", "Invalid value: 2: expected str, got int"),
        ({"spec": {"number": 1, "depth": 1}}, "spec.depth", "unknown field; there are number, texts, pods"),
        ({"spec": {}}, "spec", "Invalid value: {}: object missing required field number"),
        ({"spec": []}, "spec", "Invalid value: []: expected object, got array"),
        ({"spec": None}, "spec", "Required value: say what is asked"),
        ({"metadata": {"namespace": "a"}}, "metadata.namespace", 'Invalid value: "a": the request is for no namespace'),
        ({"metadata": {"labels": {"a": 1}}}, "metadata.labels[...]", "expected str, got int: Texts by their keys."),
        ({"metadata": "mine"}, "metadata", 'Invalid value: "mine": expected object, got str'),
        ({"status": {"number": 4}}, "status", "is what the answer says: leave it out"),
        ({"data": {}}, "data", "unknown field; an object has apiVersion, kind, metadata, spec"),
    ],
)
def test_a_fault_is_told_by_its_field(fields: dict[str, Any], field: str, told: str) -> None:
    found = refused(an_object(**fields))
    (cause,) = found.details["causes"]
    assert (found.code, cause["field"]) == (422, field)
    assert told in cause["message"]
    assert found.message == f'Doubling.visibility.penstock.dev "" is invalid: {field}: {cause["message"]}'


def test_the_namespace_is_that_of_the_request() -> None:
    body = orjson.dumps(an_object(metadata={"namespace": "a"}))
    assert read_sent(RESOURCE, DoublingSpec, body, "a").metadata.namespace == "a"
    with pytest.raises(Refused, match="the request is for the namespace b"):
        read_sent(RESOURCE, DoublingSpec, body, "b")


def test_a_fault_of_a_named_object_names_it() -> None:
    found = refused(an_object(metadata={"name": "mine"}, spec={"number": 0}))
    status = found.status()
    assert (status["reason"], status["details"]["name"], status["details"]["kind"]) == ("Invalid", "mine", "Doubling")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"{", "cannot be read as JSON"),
        (b"\xff", "cannot be read as JSON"),
        (b"[" * 100_000, "it is nested too deep"),
        (b'{"spec": {"number": 1, "number": 2}}', 'the field "number" stands twice in one object'),
        (b'{"spec": NaN}', "NaN is no value of JSON"),
        (b"[]", "the body is []: write an object"),
        ({**an_object(), "kind": "Ticket"}, 'kind is "Ticket": write Doubling'),
        ({"kind": "Doubling"}, "apiVersion is null: write visibility.penstock.dev/v1alpha1"),
    ],
)
def test_what_is_no_such_object_is_refused(body: object, told: str) -> None:
    found = refused(body)
    assert found.code == 400
    assert told in found.message


def test_a_long_value_is_cut() -> None:
    assert len(refused(an_object(spec={"number": "9" * 10_000})).message) < 400

from __future__ import annotations

import pytest

from controller.extension_api.options import Form, IncludeObject, Options, read_form, read_options, write_token
from controller.extension_api.statuses import Refused
from tests.support.viewers import TABLE

PATH = "/apis/visibility.penstock.dev/v1alpha1/pendingworkloads"


def refusal(parameters: dict[str, str], *, is_list: bool = True) -> Refused:
    with pytest.raises(Refused) as caught:
        read_options(PATH, parameters, is_list=is_list)
    return caught.value


def test_what_kubectl_asks_for_is_understood() -> None:
    token = write_token(PATH, "behind/this")
    asked = {"limit": "500", "continue": token, "includeObject": "Object", "timeout": "32s", "pretty": "false"}
    assert read_options(PATH, asked, is_list=True) == Options(500, "behind/this", IncludeObject.OBJECT, 32)
    assert read_options(PATH, {"resourceVersion": "0", "watch": "false"}, is_list=True) == Options()
    assert read_options(PATH, {"timeoutSeconds": "5"}, is_list=True).seconds == 5


def test_nobody_waits_longer_than_a_minute() -> None:
    assert read_options(PATH, {"timeout": "1h1m1s"}, is_list=False).seconds == 60


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"limit": "-1"}, "parameter limit=-1: write a whole number"),
        ({"limit": "9" * 10}, "write a whole number"),
        ({"continue": "none"}, "none that this server has given"),
        ({"continue": "e30="}, "none that this server has given"),
        ({"continue": write_token("/apis/other", "a")}, "it belongs to /apis/other"),
        ({"includeObject": "All"}, "choose one of None, Metadata, Object"),
        ({"timeout": "soon"}, "write a duration such as 30s"),
        ({"timeout": "30"}, "write a duration such as 30s"),
        ({"timeout": "0s"}, "write a duration such as 30s"),
        ({"resourceVersion": "7"}, "resourceVersion=7 is not supported"),
        ({"labelSelector": "a=b"}, "labelSelector=a=b is not supported"),
        ({"fieldSelector": "metadata.name=a"}, "fieldSelector=metadata.name=a is not supported"),
        ({"pretty": "true"}, "pretty=true is not supported"),
    ],
)
def test_what_is_not_understood_is_refused(parameters: dict[str, str], told: str) -> None:
    error = refusal(parameters)
    assert (error.code, told in error.message) == (400, True), error.message


def test_a_watch_is_refused_as_no_method() -> None:
    assert refusal({"watch": "true"}).code == 405


def test_one_object_has_no_pages() -> None:
    assert refusal({"limit": "5"}, is_list=False).code == 400


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", Form.OBJECTS),
        ("*/*", Form.OBJECTS),
        ("application/json", Form.OBJECTS),
        (TABLE, Form.TABLE),
        ("application/json;as=Table;v=v1beta1;g=meta.k8s.io, application/json", Form.OBJECTS),
        ("application/vnd.kubernetes.protobuf,application/json;q=0.9", Form.OBJECTS),
    ],
)
def test_the_first_form_that_there_is_counts(accept: str, form: Form) -> None:
    assert read_form(accept) is form


@pytest.mark.parametrize(
    "accept", ["application/yaml", "application/vnd.kubernetes.protobuf", "application/json;as=Table;v=v2;g=a"]
)
def test_a_form_that_there_is_not_is_refused(accept: str) -> None:
    with pytest.raises(Refused) as caught:
        read_form(accept)
    assert caught.value.code == 406

from __future__ import annotations

from typing import Any

import orjson
import pytest

from controller.extension_api.front_proxy import FrontProxy, Viewer, read_front_proxy
from controller.extension_api.statuses import Refused
from controller.kube.errors import KubeError

SHOWN = {"subject": ((("commonName", "front-proxy-client"),),)}
DATA = {
    "requestheader-client-ca-file": "PEM",
    "requestheader-allowed-names": '["front-proxy-client"]',
    "requestheader-username-headers": '["X-Remote-User"]',
    "requestheader-group-headers": '["X-Remote-Group"]',
    "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
}


def read(**changed: str) -> FrontProxy:
    data = {**DATA, **{key.replace("_", "-"): value for key, value in changed.items()}}
    return read_front_proxy(orjson.dumps({"data": {key: value for key, value in data.items() if value}}))


def refusal(proxy: FrontProxy, certificate: dict[str, Any], *headers: tuple[str, str]) -> Refused:
    with pytest.raises(Refused) as caught:
        proxy.viewer(certificate, headers)
    return caught.value


def test_headers_say_who_asks() -> None:
    headers = [
        ("X-Remote-User", "jane"),
        ("x-remote-group", "devs"),
        ("X-Remote-Group", "system:authenticated"),
        ("X-Remote-Extra-Example.com%2fproject", "one"),
        ("X-Remote-Extra-Example.com%2fproject", "two"),
        ("Authorization", "Bearer none"),
    ]
    extra = (("example.com/project", ("one", "two")),)
    assert read().viewer(SHOWN, headers) == Viewer("jane", "", ("devs", "system:authenticated"), extra)


def test_a_uid_counts_where_the_apiserver_names_its_header() -> None:
    proxy = read(requestheader_uid_headers='["X-Remote-Uid"]')
    assert proxy.viewer(SHOWN, [("X-Remote-User", "jane"), ("X-Remote-Uid", "7")]).uid == "7"


@pytest.mark.parametrize("certificate", [{}, {"subject": ((("commonName", "somebody"),),)}])
def test_only_the_front_proxy_is_believed(certificate: dict[str, Any]) -> None:
    error = refusal(read(), certificate, ("X-Remote-User", "root"))
    assert (error.code, "only the apiserver is served here" in error.message) == (401, True)


def test_without_allowed_names_any_of_the_authority_is_believed() -> None:
    proxy = read(requestheader_allowed_names="[]")
    shown = {"subject": ((("commonName", "other"),),)}
    assert proxy.viewer(shown, [("X-Remote-User", "jane")]).user == "jane"
    assert refusal(proxy, {}, ("X-Remote-User", "jane")).code == 401


def test_a_request_of_nobody_is_refused() -> None:
    assert "names no user in the header x-remote-user" in refusal(read(), SHOWN, ("X-Remote-User", "")).message


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"requestheader_client_ca_file": ""}, "no requestheader-client-ca-file: the apiserver runs without"),
        ({"requestheader_username_headers": ""}, "no requestheader-username-headers"),
        ({"requestheader_allowed_names": "front-proxy"}, "cannot be read"),
        ({"requestheader_group_headers": "7"}, "cannot be read"),
    ],
)
def test_an_apiserver_without_aggregation_is_told(changed: dict[str, str], told: str) -> None:
    with pytest.raises(KubeError, match=told):
        read(**changed)


def test_what_is_no_config_map_is_told() -> None:
    with pytest.raises(KubeError, match="cannot be read"):
        read_front_proxy(b"nothing")

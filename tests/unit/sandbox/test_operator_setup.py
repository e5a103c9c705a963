"""What an operator finds before it starts: what is sent to the apiserver for it, and its kubeconfig."""

from __future__ import annotations

import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from controller.sandbox import SandboxError
from controller.sandbox.files import make_private_folder
from controller.sandbox.layout import Layout
from controller.sandbox.operator_setup import kubeconfig_of, prepare, request_for
from controller.sandbox.operators import OPERATORS

RAY = OPERATORS[0]
VERSIONS = [{"name": "v1", "served": True}, {"name": "v1alpha1", "served": False}]
CRD = {
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.example.com"},
    "spec": {"group": "example.com", "names": {"plural": "things"}, "versions": VERSIONS},
}
ACCOUNT = {"kind": "ServiceAccount", "metadata": {"namespace": RAY.namespace, "name": RAY.account}}


@contextmanager
def an_apiserver(code: int = 200) -> Iterator[tuple[str, list[Any]]]:
    """One that gives every request the same answer; its address, and what it was asked."""
    asked: list[Any] = []

    class Answers(BaseHTTPRequestHandler):
        def do_PATCH(self) -> None:
            body = orjson.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append((self.command, self.path, self.headers["Content-Type"], body))
            self.send_response(code)
            self.end_headers()
            self.wfile.write(b'{"message": "no such thing", "status": {"token": "secret"}}')

        def do_POST(self) -> None:
            self.do_PATCH()

        def log_message(self, format: str, *args: object) -> None:
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, name="apiserver")
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    made = Layout(tmp_path / "one")
    make_private_folder(made.pki)
    make_private_folder(made.kubeconfigs)
    made.ca.write_text("authority")
    return made


@pytest.fixture
def program(tmp_path: Path) -> str:
    found = tmp_path / RAY.program
    Path(f"{found}.json").write_bytes(orjson.dumps([request_for(CRD), request_for(ACCOUNT)]))
    return str(found)


def test_what_is_served_then_is_told(layout: Layout, program: str) -> None:
    with an_apiserver() as (url, asked):
        assert prepare(RAY, program, layout, url) == [f"{url}/apis/example.com/v1/things"]
    paths = [path.partition("?") for _, path, _, _ in asked]
    assert [path for path, _, _ in paths] == [
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.com",
        "/api/v1/namespaces/ray-system/serviceaccounts/kuberay-operator",
        "/api/v1/namespaces/ray-system/serviceaccounts/kuberay-operator/token",
    ]
    assert [body["kind"] for _, _, _, body in asked] == [CRD["kind"], "ServiceAccount", "TokenRequest"]


def test_objects_are_applied_server_side(layout: Layout, program: str) -> None:
    with an_apiserver() as (url, asked):
        prepare(RAY, program, layout, url)
    for method, path, form, _ in asked[:-1]:
        assert (method, form) == ("PATCH", "application/apply-patch+yaml")
        assert path.endswith("?fieldManager=penstock-sandbox&force=true")


def test_the_kubeconfig_has_the_token_of_the_account(layout: Layout, program: str) -> None:
    with an_apiserver() as (url, _):
        prepare(RAY, program, layout, url)
    path = kubeconfig_of(RAY, layout)
    content = yaml.safe_load(path.read_text())
    assert content["users"][0]["user"] == {"token": "secret"}
    assert content["clusters"][0]["cluster"]["server"] == url
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_refusal_says_what_was_refused(layout: Layout, program: str) -> None:
    with an_apiserver(code=403) as (url, _), pytest.raises(SandboxError, match=r"things.*answers 403: .*no such thing"):
        prepare(RAY, program, layout, url)


def test_an_apiserver_that_is_gone_is_told(layout: Layout, program: str) -> None:
    with an_apiserver() as (url, _):
        pass
    with pytest.raises(SandboxError, match=r"customresourcedefinitions/things.*[Rr]efused"):
        prepare(RAY, program, layout, url)

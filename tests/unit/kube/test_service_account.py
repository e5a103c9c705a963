"""What a pod has of its service account is enough to reach the apiserver, and its token is read again."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest
import trustme
from aiohttp import web
from aiohttp.test_utils import TestServer

from controller.kube import clock, service_account
from controller.kube.client import Client
from controller.kube.config import load
from controller.kube.connection import Connection
from controller.kube.errors import ConfigError, Unreachable

AUTHORITY = trustme.CA()


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Of a pod with a token."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setattr(service_account, "FOLDER", tmp_path)
    (tmp_path / "ca.crt").write_bytes(AUTHORITY.cert_pem.bytes())
    (tmp_path / "token").write_text("first\n")
    return tmp_path


def read() -> Connection:
    """Settings are read before anything is served: that may block."""
    return asyncio.run(load())


@pytest.fixture
def tls() -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    AUTHORITY.issue_cert("127.0.0.1").configure_cert(context)
    return context


async def test_a_request_has_the_token_and_trusts_the_authority(
    tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def who(request: web.Request) -> web.Response:
        return web.Response(text=request.headers["Authorization"])

    app = web.Application()
    app.router.add_get("/who", who)
    server = TestServer(app, scheme="https")
    await server.start_server(ssl=tls)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(server.port))
    async with server, Client(await asyncio.to_thread(service_account.connection), user_agent="tests") as client:
        assert await client.get("/who") == b"Bearer first"


def test_an_address_of_ipv6_stands_in_brackets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    assert read().host == "https://[fd00::1]:443"


def test_the_token_is_read_again_after_a_minute(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    time = [1000.0]
    monkeypatch.setattr(clock, "monotonic", lambda: time[0])
    connection = read()

    def at(seconds: float) -> str:
        time[0] = seconds

        async def header() -> str:
            return await connection.authorization()

        return asyncio.run(header())

    (folder / "token").write_text("second")
    assert (at(1059.0), at(1060.0)) == ("Bearer first", "Bearer second")
    (folder / "token").write_text("")
    with pytest.raises(Unreachable, match=r"the token cannot be read: .*token is empty"):
        at(1120.0)
    (folder / "token").write_text("third")
    assert at(1120.0) == "Bearer third"


@pytest.mark.parametrize(("file", "content"), [("token", None), ("token", "\n"), ("ca.crt", None), ("ca.crt", "")])
def test_a_file_that_is_absent_or_empty_is_named(folder: Path, file: str, content: str | None) -> None:
    (folder / file).unlink()
    if content is not None:
        (folder / file).write_text(content)
    with pytest.raises(ConfigError, match=rf"^service account of this pod: .*{file}") as caught:
        read()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("port", [None, ""])
def test_a_port_that_is_not_set_is_named(port: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_PORT")
    if port is not None:
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
    with pytest.raises(ConfigError, match="KUBERNETES_SERVICE_PORT is not set or empty"):
        read()

"""Requests to the apiserver as bytes in and bytes out. Knows HTTP, TLS and credentials; knows no kinds.

The sessions are our own because the client library checks the HTTP status only on its typed path, has no total
timeout and shares one connection pool between watches and writes. Each answer's status is checked here, once.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import orjson

from controller.kube import clock
from controller.kube.connection import ActingAs, Connection
from controller.kube.errors import ConfigError, Silent, TooLarge, Unreachable, api_error, one_line

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

REQUEST_SECONDS = 30.0
_CONNECT_SECONDS = 5.0
_READ_BUFFER = 2**20
_RELOAD_SECONDS = 10.0


class Client:
    """One apiserver. Use as an async context manager; every method raises from `controller.kube.errors`."""

    def __init__(
        self,
        connection: Connection,
        *,
        user_agent: str,
        reload: Callable[[], Awaitable[Connection]] | None = None,
        acting_as: ActingAs | None = None,
    ) -> None:
        """`reload` reads the settings anew when the apiserver refuses our token: kubeconfigs do not renew theirs.

        `acting_as`: somebody else than the settings say.
        """
        self._connection = connection
        self._reload = reload
        self._reloaded_at = -_RELOAD_SECONDS
        self._user_agent = user_agent
        self._acting_as = acting_as or connection.acting_as
        self.url = connection.host.rstrip("/")
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        # TLS files are read once at start, before any request is served.
        connector = aiohttp.TCPConnector(limit=0, ssl=_tls(self._connection), keepalive_timeout=60)
        # identity: compressing costs the apiserver and us more than loopback or a pod network does
        headers = [("User-Agent", self._user_agent), ("Accept", JSON), ("Accept-Encoding", "identity")]
        self._session = aiohttp.ClientSession(
            connector=connector,
            headers=[*headers, *(self._acting_as.headers if self._acting_as else ())],
            read_bufsize=_READ_BUFFER,
            # not trust_env: aiohttp would ask the environment and netrc in a thread at every request
            proxy=self._connection.proxy or proxy_of_environment(self.url),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def on_behalf(self, authorization: Callable[[], Awaitable[str]]) -> Client:
        """Return a client with other credentials over the same connections; it is of use as long as this one is."""
        other = Client(replace(self._connection, authorization=authorization), user_agent=self._user_agent)
        other._session = self._session
        return other

    async def get(
        self,
        path: str,
        params: Mapping[str, str] | None = None,
        *,
        seconds: float = 60.0,
        most_bytes: int | None = None,
    ) -> bytes:
        """GET; the body. Raise TooLarge where it is longer than that, without reading all of it."""
        return await self._request("GET", path, params=params, seconds=seconds, most_bytes=most_bytes)

    async def post(
        self,
        path: str,
        body: object,
        *,
        params: Mapping[str, str] | None = None,
        seconds: float = REQUEST_SECONDS,
    ) -> bytes:
        """POST an object; the body of the answer."""
        data = _encode(body)
        return await self._request("POST", path, params=params, data=data, content_type=JSON, seconds=seconds)

    async def put(self, path: str, body: object, *, seconds: float = REQUEST_SECONDS) -> bytes:
        """PUT an object; the body of the answer."""
        return await self._request("PUT", path, data=_encode(body), content_type=JSON, seconds=seconds)

    async def patch(
        self,
        path: str,
        body: object,
        *,
        content_type: str,
        params: Mapping[str, str] | None = None,
        seconds: float = REQUEST_SECONDS,
    ) -> bytes:
        """PATCH; the body of the answer, which is the whole new object."""
        data = _encode(body)
        return await self._request("PATCH", path, params=params, data=data, content_type=content_type, seconds=seconds)

    async def delete(self, path: str, body: object = None, *, params: Mapping[str, str] | None = None) -> bytes:
        """DELETE; the body of the answer."""
        data = None if body is None else _encode(body)
        return await self._request("DELETE", path, params=params, data=data, content_type=JSON)

    @asynccontextmanager
    async def stream(
        self, path: str, params: Mapping[str, str], *, silent_seconds: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a watch and give what arrives; raise Silent when nothing at all does for `silent_seconds`.

        An apiserver that works answers before there is anything to tell: whoever does not in time is Unreachable.

        What the caller does with it raises as it is: a fault there is none of the network's.
        """
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS, sock_read=silent_seconds)
        async with AsyncExitStack() as stack:
            with self._reaching():
                async with asyncio.timeout(REQUEST_SECONDS):
                    response = await stack.enter_async_context(self._open("GET", path, params=params, timeout=timeout))
                if response.status >= 300:
                    if response.status == HTTPStatus.UNAUTHORIZED:
                        await self._renew_credentials()
                    raise api_error(
                        response.status, await response.read(), retry_after=response.headers.get("Retry-After")
                    )
            yield self._chunks(response.content)

    async def _chunks(self, content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
        with self._reaching():
            try:
                async for chunk in content.iter_any():
                    yield chunk
            except aiohttp.SocketTimeoutError as error:
                raise Silent(f"{self.url}: nothing came in time") from error

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        """Tell what goes wrong between us and the apiserver as Unreachable."""
        try:
            yield
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise _unreachable(self.url, error) from error

    async def _request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        data: bytes | None = None,
        content_type: str | None = None,
        seconds: float = REQUEST_SECONDS,
        most_bytes: int | None = None,
    ) -> bytes:
        headers = {"Content-Type": content_type} if data is not None and content_type else {}
        timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=_CONNECT_SECONDS)
        with self._reaching():
            async with self._open(method, path, params=params, data=data, headers=headers, timeout=timeout) as response:
                body = await (response.read() if most_bytes is None else _read(response, path, most_bytes))
        if response.status >= 300:
            if response.status == HTTPStatus.UNAUTHORIZED:
                await self._renew_credentials()
            raise api_error(response.status, body, retry_after=response.headers.get("Retry-After"))
        return body

    @asynccontextmanager
    async def _open(self, method: str, path: str, **options: Any) -> AsyncIterator[aiohttp.ClientResponse]:
        if self._session is None:
            raise RuntimeError("Client is used outside `async with`")
        headers = {**options.pop("headers", {}), **await self._credentials()}
        async with self._session.request(
            method,
            self.url + path,
            headers=headers,
            server_hostname=self._connection.tls_server_name,
            **options,
        ) as response:
            yield response

    async def _credentials(self) -> dict[str, str]:
        authorization = await self._connection.authorization()
        return {"Authorization": authorization} if authorization else {}

    async def _renew_credentials(self) -> None:
        """Read the settings anew, for the next request; at most once in a while, since 401 may have other causes."""
        if self._reload is None or clock.monotonic() - self._reloaded_at < _RELOAD_SECONDS:
            return
        self._reloaded_at = clock.monotonic()
        fresh = await self._reload()
        self._connection = replace(self._connection, authorization=fresh.authorization)


async def _read(response: aiohttp.ClientResponse, path: str, most_bytes: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > most_bytes:
            raise TooLarge(f"{path}: the answer is longer than {most_bytes} bytes")
        parts.append(chunk)
    return b"".join(parts)


def _encode(body: object) -> bytes:
    return body if isinstance(body, bytes) else orjson.dumps(body)


def _tls(connection: Connection) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=connection.ca_file)
        if connection.cert_file:
            context.load_cert_chain(connection.cert_file, connection.key_file)
    except (OSError, ssl.SSLError) as error:
        files = ", ".join(str(f) for f in (connection.ca_file, connection.cert_file) if f)
        raise ConfigError(f"TLS files of the kubeconfig ({files}): {error}") from error
    if not connection.verify_tls:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def proxy_of_environment(url: str) -> str | None:
    """Return the proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name for this URL; None: there is none."""
    parts = urlsplit(url)
    if parts.hostname is None or proxy_bypass(parts.hostname):
        return None
    return getproxies().get(parts.scheme)


def _unreachable(url: str, error: BaseException) -> Unreachable:
    if isinstance(error, asyncio.TimeoutError):
        return Unreachable(f"{url}: no answer in time")
    return Unreachable(f"{url}: {_cause(error)}")


def _cause(error: BaseException) -> str:
    """Say why there is no connection in the words of the operating system, not in those of the client."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        cause = error.certificate_error
        return f"its certificate is not trusted: {getattr(cause, 'verify_message', '') or one_line(cause)}"
    if isinstance(error, aiohttp.ClientConnectorError):
        cause = error.os_error
        # asyncio puts words of its own there; the numbers of name resolution and of TLS are none of the system's
        if cause.errno and not isinstance(cause, (socket.gaierror, ssl.SSLError)):
            return f"no connection: {os.strerror(cause.errno)}"
        return f"no connection: {cause.strerror or one_line(cause)}"
    return one_line(error)

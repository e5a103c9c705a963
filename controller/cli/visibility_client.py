"""Asks the visibility API of a cluster, where it is served: GET and POST, tried again while no leader answers.

Whether it is served is found out by asking. Only a 404 that is no object's says that it is not; authorization comes
before that, so whoever is refused asks for its discovery as well, which all who have logged in may read.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final, TypeVar
from urllib.parse import urlencode

import msgspec
from rich.console import Console
from rich.status import Status

from controller.extension_api.paths import ROOT
from controller.extension_api.reading import Listed, Member, is_of_no_object, within
from controller.extension_api.registration import API_SERVICE
from controller.kube import clock, config
from controller.kube.client import Client
from controller.kube.errors import ApiError, Forbidden, KubeError, NotFound, UnreadableObject, one_line

_R = TypeVar("_R", bound=msgspec.Struct)
_F = TypeVar("_F")

WITHOUT_API: Final = "--without-api"
PATIENCE: Final = 10.0
_ANSWER_SECONDS: Final = 60.0
_PAUSE: Final = 1.0
_UNAVAILABLE: Final = frozenset({429, 503})


class NotServed(Exception):
    """The cluster has no visibility API, or one of an older Penstock that does not have what is asked for."""


class NotAnswering(KubeError):
    """The API is registered and nobody has answered for as long as we wait."""


class VisibilityClient:
    """The API of one cluster. Paths are those below the group and version; every method raises KubeError, NotServed.

    `patience`: for so many seconds a request is tried again that nobody answers.
    """

    def __init__(self, client: Client, status: Status, *, patience: float = PATIENCE) -> None:
        self._client = client
        self._status = status
        self._patience = patience

    async def get(self, path: str, parameters: Mapping[str, str] | None = None) -> bytes:
        """GET `/namespaces/team-a/pendingworkloads`, say; the body."""
        return await self._ask(lambda: self._client.get(ROOT + path, parameters, seconds=_ANSWER_SECONDS))

    async def post(self, path: str, body: object) -> bytes:
        """POST an object; the body of the answer. It changes nothing, so that it is tried again like a GET."""
        return await self._ask(lambda: self._client.post(ROOT + path, body, seconds=_ANSWER_SECONDS))

    async def rows(self, plural: str, row: type[_R], namespace: str | None) -> list[_R]:
        """List a resource whose `status` is a row of this type; `namespace` None: of all, or it has none."""
        return await self.listed(within(namespace, plural), row)

    async def listed(self, path: str, row: type[_R]) -> list[_R]:
        """List what has a path, each of which has a `status` of this type."""
        found = await self._decoded(path, Listed[row])  # type: ignore[valid-type] # known when it runs
        return [one.status for one in found.items]

    async def pages(self, path: str, parameters: Sequence[tuple[str, str]], row: type[_R], most: int) -> list[_R]:
        """List a resource page by page, up to so many objects; a parameter may be there more than once."""
        found: list[_R] = []
        end = ""
        while True:
            asked = [*parameters, ("continue", end)] if end else parameters
            page: Listed[_R] = await self._decoded(f"{path}?{urlencode(asked)}", Listed[row])  # type: ignore[valid-type]
            found += [one.status for one in page.items]
            end = page.metadata.end
            if not end or len(found) >= most:
                return found[:most]

    async def one(self, path: str, row: type[_R]) -> _R:
        """Get one object whose `status` is a row of this type. Raises NotFound where there is none."""
        return (await self._decoded(path, Member[row])).status  # type: ignore[valid-type] # as above

    async def created(self, path: str, body: object, row: type[_R]) -> _R:
        """POST an object; what its `status` says in the answer."""
        answer = await self.post(path, body)
        return self._read(path, answer, Member[row]).status  # type: ignore[valid-type] # as above

    async def _decoded(self, path: str, form: type[_F]) -> _F:
        return self._read(path, await self.get(path), form)

    def _read(self, path: str, body: bytes, form: type[_F]) -> _F:
        try:
            return msgspec.json.decode(body, type=form)
        except msgspec.MsgspecError as error:
            raise UnreadableObject(f"{ROOT}{path}: {one_line(error)}; {_of_another_version()}") from error

    async def _ask(self, request: Callable[[], Awaitable[bytes]]) -> bytes:
        until = clock.monotonic() + self._patience
        while True:
            try:
                return await request()
            except NotFound as error:
                if is_of_no_object(error):
                    raise NotServed from None
                raise
            except Forbidden:
                await self._check_served()
                raise
            except ApiError as error:
                if error.status not in _UNAVAILABLE:
                    raise
                pause = max(_PAUSE, error.retry_after_seconds)
                if clock.monotonic() + pause > until:
                    raise NotAnswering(_not_answering(error, self._patience)) from error
            self._status.update("The visibility API does not answer yet: trying again")
            await asyncio.sleep(pause)

    async def _check_served(self) -> None:
        """Raise NotServed where what was refused does not exist at all."""
        try:
            await self._client.get(ROOT)
        except NotFound:
            raise NotServed from None
        except ApiError:
            return


@asynccontextmanager
async def visibility_client(kubeconfig: str | None, context: str | None) -> AsyncIterator[VisibilityClient]:
    """Connect to the cluster of a kubeconfig; on a terminal it is shown that we wait. Raises KubeError."""
    async with Client(await config.load(kubeconfig, context), user_agent="penstock-cli") as client:
        with Console(stderr=True).status("Asking the controller") as status:
            yield VisibilityClient(client, status)


def _not_answering(error: ApiError, patience: float) -> str:
    service = API_SERVICE.rpartition("/")[2]
    return (
        f"the visibility API has not answered for {patience:g} s ({one_line(error)}): penstock doctor says whether a "
        f"controller leads, and kubectl get apiservice {service} what the apiserver knows; {WITHOUT_API} lists the "
        "cluster instead, which takes the right to list all of it"
    )


def _of_another_version() -> str:
    return f"the controller is of another version than this command: use the same, or {WITHOUT_API}"

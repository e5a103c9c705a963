"""A whole collection, page by page: at most 1,000 objects are in flight at a time, however many there are.

Only where a list by pages took too long for the apiserver it is asked for at once.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Final, TypeVar

from msgspec import DecodeError, Raw
from msgspec.json import Decoder

from controller.kube import wire
from controller.kube.client import Client
from controller.kube.errors import KubeError

T = TypeVar("T")

PAGE: Final = 1000
_PAGE_SECONDS: Final = 60.0
_WHOLE_SECONDS: Final = 300.0

_page = Decoder(wire.Page)


async def pages(
    client: Client, path: str, params: Mapping[str, str] | None = None, *, at_once: bool = False
) -> AsyncIterator[wire.Page]:
    """Yield the pages of the collection at `path`, a single one of all objects with `at_once`.

    Raises KubeError when an answer is no list, or there is none, and Gone when the apiserver has forgotten the list
    before its last page: it remembers for five minutes.
    """
    token = ""
    limit = {} if at_once else {"limit": str(PAGE)}
    while True:
        asked = {**(params or {}), **limit, **({"continue": token} if token else {})}
        try:
            page = _page.decode(await client.get(path, asked, seconds=_WHOLE_SECONDS if at_once else _PAGE_SECONDS))
        except DecodeError as error:
            raise KubeError(f"{path}: the answer is no list: {error}") from error
        yield page
        token = page.metadata.token
        if not token:
            return


async def list_all(client: Client, path: str, decode: Callable[[Raw], T]) -> list[T]:
    """Return every object of the collection; one that cannot be read raises what `decode` raises."""
    return [decode(raw) async for page in pages(client, path) for raw in page.items or ()]

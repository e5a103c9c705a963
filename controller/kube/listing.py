"""A whole collection, page by page: some megabytes are in flight at a time, however many objects there are.

Whoever may make pods may make them of a megabyte and more each, so how many a page has goes by how large those before
it were. Large ones may come behind small ones: of a page that is too long all the same no more is read, and a shorter
one is asked for in its place. Only where a list by pages took too long for the apiserver it is asked for at once.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Final, TypeVar

from msgspec import DecodeError, Raw
from msgspec.json import Decoder

from controller.kube import wire
from controller.kube.client import Client
from controller.kube.errors import KubeError, TooLarge

T = TypeVar("T")

FIRST: Final = 20
"""So many objects the first page has: nothing is known of their size yet."""
_MOST: Final = 1000
_PAGE_BYTES: Final = 8 * 2**20
_MOST_BYTES: Final = 4 * _PAGE_BYTES
"""No more than this is taken in of a page, unless it is of one object."""
_SHORTER: Final = 8
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
    token, limit = "", FIRST
    while True:
        page_of = {} if at_once else {"limit": str(limit)}
        asked = {**(params or {}), **page_of, **({"continue": token} if token else {})}
        seconds, most = (_WHOLE_SECONDS, None) if at_once else (_PAGE_SECONDS, _MOST_BYTES if limit > 1 else None)
        try:
            answer = await client.get(path, asked, seconds=seconds, most_bytes=most)
        except TooLarge:
            limit = max(1, limit // _SHORTER)
            continue
        try:
            page = _page.decode(answer)
        except DecodeError as error:
            raise KubeError(f"{path}: the answer is no list: {error}") from error
        limit = _next_limit(len(answer), len(page.items or ()))
        del answer  # what is in it is no longer than the page
        yield page
        token = page.metadata.token
        if not token:
            return


def _next_limit(size: int, count: int) -> int:
    """Return how many objects the next page is to have, after one of so many bytes and objects."""
    return min(_MOST, max(1, _PAGE_BYTES * count // max(1, size))) if count else FIRST


async def list_all(
    client: Client, path: str, decode: Callable[[Raw], T], params: Mapping[str, str] | None = None
) -> list[T]:
    """Return every object of the collection; one that cannot be read raises what `decode` raises."""
    return [decode(raw) async for page in pages(client, path, params) for raw in page.items or ()]

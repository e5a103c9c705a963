"""The page as it was built: its files in memory, compressed once."""

from __future__ import annotations

import gzip
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aiohttp import web

FOLDER: Final = Path(__file__).parent / "static"
_FIRST: Final = "index.html"
_FOREVER: Final = "public, max-age=31536000, immutable"


class NotBuilt(Exception):
    """The page is not there: this is a checkout in which nobody has built it."""


@dataclass(frozen=True, slots=True)
class File:
    """One file; those in `assets/` have a digest of what is in them in their name."""

    content_type: str
    cache_control: str
    body: bytes
    compressed: bytes

    def response(self, request: web.Request) -> web.Response:
        """Return it as an answer."""
        is_compressed = "gzip" in request.headers.get("Accept-Encoding", "")
        headers = {"Content-Type": self.content_type, "Cache-Control": self.cache_control, "Vary": "Accept-Encoding"}
        if is_compressed:
            headers["Content-Encoding"] = "gzip"
        return web.Response(body=self.compressed if is_compressed else self.body, headers=headers)


class Files:
    """All files of the page, by path. Every view has an address of its own, and each of these is the same file."""

    def __init__(self, by_path: Mapping[str, File]) -> None:
        self._by_path = by_path

    @classmethod
    def read(cls, folder: Path = FOLDER) -> Files:
        """Read them. Raises NotBuilt."""
        if not (folder / _FIRST).is_file():
            raise NotBuilt("the page is not built: run `make page` in this checkout, or install a released package")
        return cls({f"/{one.relative_to(folder)}": _file(one, folder) for one in folder.rglob("*") if one.is_file()})

    async def answer(self, request: web.Request) -> web.Response:
        """Return a file, or the page itself for the address of a view."""
        found = self._by_path.get(request.path)
        if found is None and request.path.startswith("/assets/"):
            raise web.HTTPNotFound(text="there is no such file in this version of the page; load it again")
        return (found or self._by_path[f"/{_FIRST}"]).response(request)


def _file(path: Path, folder: Path) -> File:
    body = path.read_bytes()
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    is_text = kind.startswith("text/") or kind.endswith("javascript")
    is_kept = path.parent != folder
    return File(
        f"{kind}; charset=utf-8" if is_text else kind,
        _FOREVER if is_kept else "no-cache",
        body,
        gzip.compress(body, mtime=0),
    )

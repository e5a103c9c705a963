"""Asks a component over HTTP whether it is healthy. Blocking, one request; what to make of the answer is for others."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

_SECONDS = 2.0


def trouble(url: str, *, ca: Path | None = None, client: Path | None = None) -> str | None:
    """None when `url` answers 200, else why not, in a few words.

    `client` is a path without its ending: `.crt` and `.key` are added.
    """
    try:
        with connected(url, ca=ca, client=client, seconds=_SECONDS) as connection:
            connection.request("GET", urlsplit(url).path)
            status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        return " ".join(str(error).split()) or type(error).__name__
    return None if status == http.client.OK else f"answers {status}"


@contextmanager
def connected(
    url: str, *, ca: Path | None, client: Path | None, seconds: float
) -> Iterator[http.client.HTTPConnection]:
    """A connection to the server of `url`, on which no answer may take longer than `seconds`; `client` as above."""
    parts = urlsplit(url)
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        context = ssl.create_default_context(cafile=ca)
        if client is not None:
            context.load_cert_chain(client.with_suffix(".crt"), client.with_suffix(".key"))
        connection = http.client.HTTPSConnection(parts.netloc, timeout=seconds, context=context)
    else:
        connection = http.client.HTTPConnection(parts.netloc, timeout=seconds)
    try:
        yield connection
    finally:
        connection.close()

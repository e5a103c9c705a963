"""One request to a receiver, and what its answer means: it has it, it may have it later, or it never takes it.

Redirects are not followed: where requests go stands in the file of receivers, and nowhere else.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

import aiohttp

from controller.kube import clock
from controller.kube.client import proxy_of_environment
from controller.kube.errors import one_line
from controller.notifications.formats import CONTENT_TYPES
from controller.notifications.settings import Receiver

SECONDS: Final = 10.0
_TOLD: Final = 200
"""Bytes of an answer that are read, for the log."""
_LONGEST_PAUSE: Final = 300.0
_TRIED_AGAIN: Final = (408, 425, 429)


@dataclass(frozen=True, slots=True)
class Delivered:
    """The receiver has it."""


@dataclass(frozen=True, slots=True)
class Later:
    """The receiver does not have it, or nobody knows; try again, after so many seconds at least."""

    why: str
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Refused:
    """The receiver does not take it."""

    why: str


Answer = Delivered | Later | Refused


def session() -> aiohttp.ClientSession:
    """Return a session for all receivers; it keeps no cookies."""
    headers = {"User-Agent": "penstock-notifications"}
    return aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), headers=headers)


async def post(http: aiohttp.ClientSession, receiver: Receiver, body: bytes) -> Answer:
    """Send a body once. What is returned never names the URL, which may hold a credential."""
    url = receiver.url.get_secret_value()
    headers = {**receiver.plain_headers, "Content-Type": CONTENT_TYPES[receiver.format]}
    try:
        async with (
            asyncio.timeout(SECONDS),
            http.post(
                url, data=body, headers=headers, allow_redirects=False, proxy=proxy_of_environment(url)
            ) as response,
        ):
            return _meant(response, await response.content.read(_TOLD))
    except TimeoutError:
        return Later(f"no answer within {SECONDS:g} s")
    except aiohttp.ClientResponseError as error:
        return Later(f"the proxy answers {error.status}")
    except ValueError:
        return Later("no resolver takes the host of its URL")
    except (aiohttp.ClientError, OSError) as error:
        return Later(one_line(error) or type(error).__name__)


def _meant(response: aiohttp.ClientResponse, told: bytes) -> Answer:
    if 200 <= response.status < 300:
        return Delivered()
    if 300 <= response.status < 400:
        return Refused(f"{response.status}: redirects are not followed; write the URL that it leads to")
    text = told.decode("utf-8", "replace").strip().split("\n", 1)[0]
    why = f"{response.status}: {text}" if text else str(response.status)
    if response.status in _TRIED_AGAIN or response.status >= 500:
        return Later(why, min(retry_after(response.headers.get("Retry-After", "")), _LONGEST_PAUSE))
    return Refused(why)


def retry_after(text: str) -> float:
    """Return the seconds that a Retry-After asks for, as a number or a time; 0 for what is neither."""
    if text.isascii() and text.isdecimal():
        return float(text[:9])
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    return max(0.0, (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp() - clock.now())

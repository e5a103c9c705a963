"""A message to each receiver of a file that says nothing but that it arrives: the way is tried before it matters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from uuid import uuid4

import orjson

from controller.kube import clock
from controller.notifications.formats import SLACK, event, slack
from controller.notifications.posting import Answer, post, session
from controller.notifications.settings import Receiver

TYPE: Final = "dev.penstock.test.v1"


async def try_all(receivers: Iterable[Receiver], cluster: str | None) -> list[tuple[Receiver, Answer]]:
    """Send each receiver a message once; return what came of each."""
    async with session() as http:
        return [(one, await post(http, one, message(one, cluster))) for one in receivers]


def message(receiver: Receiver, cluster: str | None) -> bytes:
    """Write the message for a receiver. Its id is another one each time: no receiver may drop it as known."""
    if receiver.format == SLACK:
        return slack([f"Test: Penstock can send notifications to {receiver.name}"], cluster)
    attributes = event(TYPE, f"test/{uuid4()}", clock.now(), cluster)
    return orjson.dumps({**attributes, "data": {"receiver": receiver.name}})

"""How notices are written for a receiver: as CloudEvents 1.0, or as a message that Slack and those like it take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import orjson

from controller.kube.clock import rfc3339
from controller.notifications.notices import TYPES, Notice

CLOUD_EVENTS: Final = "CloudEvents"
SLACK: Final = "Slack"

CONTENT_TYPES: Final = {CLOUD_EVENTS: "application/cloudevents+json; charset=UTF-8", SLACK: "application/json"}
AT_ONCE: Final = {CLOUD_EVENTS: 1, SLACK: 20}
"""So many notices are written into one request, at most: a chat takes about one message a second."""

_LINE_ROOM: Final = 500
_ESCAPED: Final = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("@", "@\u200b"), ("\n", " "))
"""Slack's three control characters; and with a space of no width behind it, `@channel` calls nobody elsewhere."""


def source_of(cluster: str | None) -> str:
    """Return the `source` of CloudEvents, which tells clusters apart where they have names."""
    return "/penstock" if cluster is None else f"/penstock/{cluster}"


def body(form: str, notices: Sequence[Notice], cluster: str | None) -> bytes:
    """Write notices, at most as many as the format takes at once."""
    if form == SLACK:
        return slack([one.text for one in notices], cluster)
    (notice,) = notices
    return orjson.dumps(cloud_event(notice, cluster))


def cloud_event(notice: Notice, cluster: str | None) -> dict[str, Any]:
    """Return a notice as a CloudEvent in structured mode."""
    attributes = event(TYPES[notice.kind], notice.id, notice.at, cluster)
    return {**attributes, "subject": notice.subject, "data": notice.data}


def event(type_: str, id_: str, at: float, cluster: str | None) -> dict[str, Any]:
    """Return the attributes of a CloudEvent without subject and data."""
    return {
        "specversion": "1.0",
        "id": id_,
        "source": source_of(cluster),
        "type": type_,
        "time": rfc3339(at),
        "datacontenttype": "application/json",
    }


def slack(lines: Sequence[str], cluster: str | None) -> bytes:
    """Write lines as one message."""
    before = "" if cluster is None else f"[{cluster}] "
    return orjson.dumps({"text": "\n".join(_escaped(f"{before}{one}"[:_LINE_ROOM]) for one in lines)})


def _escaped(text: str) -> str:
    for character, written in _ESCAPED:
        text = text.replace(character, written)
    return text

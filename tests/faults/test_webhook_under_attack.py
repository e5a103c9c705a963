"""Whoever reaches the webhook's port takes neither its memory nor its time from the pods that are created meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from math import ceil
from pathlib import Path
from time import monotonic

import orjson
import pytest

from controller.kube.errors import NotFound
from controller.telemetry import connections
from controller.telemetry.http import Address, serving
from controller.telemetry.tls import Certificate
from tests.support.eventually import eventually
from tests.support.fake_client import FakeClient
from tests.support.on_uvloop import on_uvloop
from tests.support.secured import LOOPBACK, Pair, Wire, head, review
from tests.support.worlds import EmptyWorld
from webhook.metrics import WebhookMetrics
from webhook.reviews.bodies import LARGE, LIMIT
from webhook.server import admission
from webhook.world.cluster import ClusterLookups
from webhook.world.live import QUESTIONS_A_SECOND

MIB = 2**20


class Attacked:
    """The webhook, over TLS, and all connections that a test makes to it."""

    def __init__(self, address: Address, pair: Pair) -> None:
        self._address = address
        self._context = pair.trusting()
        self.wires: list[Wire] = []

    async def wire(self) -> Wire:
        self.wires.append(await Wire.open(self._address, self._context))
        return self.wires[-1]

    async def bare_wire(self) -> Wire:
        """Without a handshake."""
        self.wires.append(await Wire.open(self._address, None))
        return self.wires[-1]

    async def creates(self) -> int:
        """The status that the review of an ordinary pod gets."""
        return (await (await self.wire()).ask(review()))[0]


@asynccontextmanager
async def attacked(pair: Pair, *, most: int = connections.MOST, budget: int = 64 * MIB) -> AsyncIterator[Attacked]:
    app = admission(EmptyWorld(), WebhookMetrics(), ready=lambda: True, budget=budget)
    certificate = Certificate(pair.certificate, pair.key)
    async with serving(app, LOOPBACK, tls=certificate, most=most) as address:
        webhook = Attacked(address, pair)
        yield webhook
        for wire in webhook.wires:
            wire.close()


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is unfinished is overdue at once."""
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 1.0)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    "part",
    [b"", b"POST /mutate/pods HTTP/1.1\r\nHost", head(10), head(10) + b"half", head(5 * MIB) + b" " * 3 * MIB],
    ids=["nothing", "half a head", "a head", "half a body", "half a large body"],
)
@on_uvloop
async def test_what_is_sent_by_halves_is_closed(pair: Pair, part: bytes) -> None:
    async with attacked(pair) as webhook:
        wires = [await webhook.wire() for _ in range(5)]
        for wire in wires:
            wire.send(part)
        assert await asyncio.gather(*(wire.closed() for wire in wires)) == [True] * 5
        assert await webhook.creates() == 200


@pytest.mark.usefixtures("hasty")
@on_uvloop
async def test_who_never_shakes_hands_is_closed(pair: Pair) -> None:
    async with attacked(pair) as webhook:
        wires = [await webhook.bare_wire() for _ in range(5)]
        assert await asyncio.gather(*(wire.closed() for wire in wires)) == [True] * 5


@pytest.mark.usefixtures("hasty")
@on_uvloop
async def test_a_kept_connection_may_be_idle_between_reviews(pair: Pair) -> None:
    async with attacked(pair) as webhook:
        wire, overdue = await webhook.wire(), await webhook.wire()
        assert (await wire.ask(review()))[0] == 200
        assert await overdue.closed()
        assert (await wire.ask(review()))[0] == 200
        wire.send(head(10))
        assert await wire.closed()


@pytest.mark.parametrize("is_secured", [True, False])
@on_uvloop
async def test_idle_connections_give_way_to_new_ones(
    pair: Pair, is_secured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 600)
    async with attacked(pair, most=10) as webhook:
        for _ in range(60):
            await (webhook.wire() if is_secured else webhook.bare_wire())
            assert len(webhook.wires) > 10 or all(wire.is_open for wire in webhook.wires)
        assert await webhook.creates() == 200
        await eventually(lambda: sum(wire.is_open for wire in webhook.wires) <= 10, message="more are open")


@on_uvloop
async def test_who_waits_longest_for_its_peer_goes_first(pair: Pair) -> None:
    async with attacked(pair, most=3) as webhook:
        first, second, third = [await webhook.wire() for _ in range(3)]
        assert (await first.ask(review()))[0] == 200
        assert await webhook.creates() == 200
        assert await second.closed()
        assert (first.is_open, third.is_open) == (True, True)


@on_uvloop
async def test_large_bodies_share_a_budget_and_small_ones_do_not(pair: Pair) -> None:
    large = review(spaces=MIB)
    async with attacked(pair, budget=MIB + MIB // 2) as webhook:
        holder, later = await webhook.wire(), await webhook.wire()
        holder.send(head(len(large)) + large[:-1])
        await eventually(lambda: _is_refused(webhook, large), message="the budget holds two large bodies")
        assert await webhook.creates() == 200
        holder.send(large[-1:])
        assert (await holder.answer())[0] == 200
        assert (await later.ask(large))[0] == 200


async def _is_refused(webhook: Attacked, body: bytes) -> bool:
    return (await (await webhook.wire()).ask(body))[0] == 503


@on_uvloop
async def test_what_a_body_held_is_given_back_however_it_ends(pair: Pair) -> None:
    large = review(spaces=MIB)
    async with attacked(pair, budget=MIB + MIB // 2) as webhook:
        for _ in range(5):
            wire = await webhook.wire()
            wire.send(head(len(large)) + large[:-1])
            wire.close()
            assert (await (await webhook.wire()).ask(b" " * LIMIT + b"  "))[0] in (413, 503)
        assert (await (await webhook.wire()).ask(large))[0] == 200


@pytest.mark.parametrize("length", [LARGE, LARGE + 1, LIMIT])
@on_uvloop
async def test_a_body_up_to_the_limit_is_judged(pair: Pair, length: int) -> None:
    async with attacked(pair) as webhook:
        status, body = await (await webhook.wire()).ask(review(spaces=length - len(review())))
        assert (status, orjson.loads(body)["response"]["allowed"]) == (200, True)


@on_uvloop
async def test_a_body_over_the_limit_is_refused_by_name(pair: Pair) -> None:
    async with attacked(pair, budget=MIB) as webhook:
        wires = [await webhook.wire() for _ in range(6)]
        answers = await asyncio.gather(*(wire.ask(review(spaces=15_000_000)) for wire in wires))
        assert {(status, orjson.loads(body)["response"]["allowed"]) for status, body in answers} == {(200, False)}
        assert await webhook.creates() == 200


@on_uvloop
async def test_reviews_of_unknown_namespaces_ask_little(pair: Pair) -> None:
    """However many there are, of one name or of ever new ones."""
    world, fake = ClusterLookups(), FakeClient().will("GET", *[NotFound(404, "NotFound", "no")] * 1000)
    app = admission(
        world, WebhookMetrics(), ready=lambda: True, completed=lambda request: world.completed(fake.as_client, request)
    )
    async with serving(app, LOOPBACK) as address:
        wire = await Wire.open(address, None)
        same = [await wire.ask(review(namespace="nowhere")) for _ in range(100)]
        assert len(fake.calls) == 1
        began = monotonic()
        others = [await wire.ask(review(namespace=f"n{number}")) for number in range(100)]
        seconds = monotonic() - began
        most = 1 + QUESTIONS_A_SECOND * (1 + ceil(seconds))
        assert len(fake.calls) <= most
        wire.close()
    assert {status for status, _ in (*same, *others)} == {200}
    refused = [orjson.loads(body)["response"]["allowed"] for _, body in others]
    assert refused.count(False) >= len(others) - most

"""Who goes when there are too many connections, and who is overdue."""

from __future__ import annotations

from controller.telemetry.connections import REQUEST_SECONDS, Peer, Peers


class Port:
    """Peers, with a clock that each arrival moves on by a second."""

    def __init__(self, most: int) -> None:
        self.now = 0.0
        self.closed: list[str] = []
        self.peers = Peers(most, lambda: self.now)

    def arrives(self, name: str) -> Peer:
        self.now += 1
        peer = Peer(lambda: self.closed.append(name))
        if not self.peers.arrive(peer):
            self.closed.append(f"{name}, at once")
        return peer


def test_the_one_that_waits_longest_goes_for_a_new_one() -> None:
    port = Port(most=2)
    first, second = port.arrives("first"), port.arrives("second")
    port.peers.whole(first)
    port.peers.answered(first)
    port.arrives("third")
    assert (port.closed, len(port.peers)) == (["second"], 2)
    port.peers.leave(second)
    port.peers.begin(first)
    port.arrives("fourth")
    assert (port.closed, len(port.peers)) == (["second", "third"], 2)


def test_nobody_who_waits_for_us_goes() -> None:
    port = Port(most=2)
    for name in ("first", "second"):
        port.peers.whole(port.arrives(name))
    port.arrives("third")
    assert (port.closed, len(port.peers)) == (["third, at once"], 2)


def test_overdue_is_an_unfinished_request_alone() -> None:
    port = Port(most=9)
    port.arrives("silent")
    judged, idle, begun = (port.arrives(name) for name in ("judged", "idle", "begun"))
    port.peers.whole(judged)
    for peer in (idle, begun):
        port.peers.whole(peer)
        port.peers.answered(peer)
    port.now += REQUEST_SECONDS
    port.peers.begin(begun)
    port.peers.sweep()
    assert port.closed == ["silent"]
    port.now += REQUEST_SECONDS
    port.peers.sweep()
    assert (port.closed, len(port.peers)) == (["silent", "begun"], 2)


def test_who_is_gone_does_not_come_back() -> None:
    port = Port(most=9)
    peer = port.arrives("gone")
    port.peers.leave(peer)
    port.peers.answered(peer)
    port.peers.leave(peer)
    assert len(port.peers) == 0
    port.now += REQUEST_SECONDS
    port.peers.sweep()
    assert port.closed == []

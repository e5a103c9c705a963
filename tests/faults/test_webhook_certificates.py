"""The webhook's certificate is replaced under load, and clients have to show theirs: no right handshake fails."""

from __future__ import annotations

import asyncio
import ssl
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trustme

from controller.telemetry.http import Address, serving
from controller.telemetry.tls import Certificate, CertificateError, Clients
from tests.support.documented import ROOT
from tests.support.on_uvloop import on_uvloop
from tests.support.secured import LOOPBACK, Pair, Wire, review
from tests.support.worlds import EmptyWorld
from webhook.metrics import WebhookMetrics
from webhook.server import admission

HANDSHAKES = 300


@contextmanager
def rotating(pair: Pair, certificate: Certificate, pause: float = 0.0) -> Iterator[list[bool]]:
    """Replace the files and read them again, in a thread as the webhook does, after a pause; whether each did."""
    end, said = threading.Event(), list[bool]()

    def rotate() -> None:
        while not end.wait(pause):
            pair.issue()
            said.append(certificate.refresh())

    thread = threading.Thread(target=rotate, name="rotation")
    thread.start()
    try:
        yield said
    finally:
        end.set()
        thread.join()


async def handshake(address: Address, context: ssl.SSLContext) -> bool:
    try:
        wire = await Wire.open(address, context)
    except OSError:
        return False
    wire.close()
    return True


@on_uvloop
async def test_no_handshake_fails_while_certificates_rotate(tmp_path: Path) -> None:
    pair = Pair(tmp_path)
    certificate, context = Certificate(pair.certificate, pair.key), pair.trusting()
    app = admission(EmptyWorld(), WebhookMetrics(), ready=lambda: True)
    async with serving(app, LOOPBACK, tls=certificate) as address:
        with rotating(pair, certificate) as said:
            done: list[bool] = []
            while len(done) < HANDSHAKES or said.count(True) < 50:
                done += await asyncio.gather(*(handshake(address, context) for _ in range(10)))
    assert done.count(False) == 0


@pytest.mark.more
@on_uvloop
async def test_many_new_connections_see_no_rotation(tmp_path: Path) -> None:
    """For ten seconds, by a program of its own, at the rate that `dialer` is told where the machine can."""
    pair = Pair(tmp_path)
    certificate = Certificate(pair.certificate, pair.key)
    pair.authority.cert_pem.write_to_path(tmp_path / "ca.crt")
    app = admission(EmptyWorld(), WebhookMetrics(), ready=lambda: True)
    async with serving(app, LOOPBACK, tls=certificate) as address:
        with rotating(pair, certificate, pause=0.2) as said:
            command = ["-m", "tests.support.dialer", str(address.port), str(tmp_path / "ca.crt"), "5000", "500"]
            pipe = asyncio.subprocess.PIPE
            dialer = await asyncio.create_subprocess_exec(sys.executable, *command, cwd=ROOT, stdout=pipe)
            output, _ = await dialer.communicate()
    answered, failed, pace = output.decode().split()
    assert (answered, failed) == ("5000", "0"), f"at {pace} a second"
    assert said.count(True) > 10
    sys.stdout.write(f"{pace} new connections a second, {said.count(True)} certificates\n")


class ClientFiles:
    """Certificates that clients show."""

    def __init__(self, folder: Path) -> None:
        self.pair, self.authority = Pair(folder), trustme.CA()
        self.ca = folder / "clients.crt"
        self.authority.cert_pem.write_to_path(self.ca)

    def certificate(self, *names: str) -> Certificate:
        return Certificate(self.pair.certificate, self.pair.key, Clients(self.ca, frozenset(names)))

    def showing(self, authority: trustme.CA | None, common: str = "", *others: str) -> ssl.SSLContext:
        context = self.pair.trusting()
        if authority is not None:
            authority.issue_cert(*others, common_name=common).configure_cert(context)
        return context


async def is_served(certificate: Certificate, context: ssl.SSLContext) -> bool:
    app = admission(EmptyWorld(), WebhookMetrics(), ready=lambda: True)
    async with serving(app, LOOPBACK, tls=certificate) as address:
        try:
            wire = await Wire.open(address, context)
            status, _ = await wire.ask(review())
        except (OSError, asyncio.IncompleteReadError):
            return False
        wire.close()
        return status == 200


@on_uvloop
async def test_only_clients_of_the_authority_are_served(tmp_path: Path) -> None:
    clients = ClientFiles(tmp_path)
    certificate = clients.certificate()
    assert await is_served(certificate, clients.showing(clients.authority, "anybody"))
    assert not await is_served(certificate, clients.showing(None))
    assert not await is_served(certificate, clients.showing(trustme.CA(), "anybody"))


@pytest.mark.parametrize(
    ("common", "others", "served"),
    [
        ("kube-apiserver", (), True),
        ("other", ("apiserver.test",), True),
        ("x", ("apiserver.test", "y.test"), True),
        ("kube-apiserver2", ("z.test",), False),
    ],
)
@on_uvloop
async def test_of_these_only_those_that_have_the_name(
    tmp_path: Path, common: str, others: tuple[str, ...], served: bool
) -> None:
    clients = ClientFiles(tmp_path)
    certificate = clients.certificate("kube-apiserver", "apiserver.test")
    assert await is_served(certificate, clients.showing(clients.authority, common, *others)) is served


@pytest.mark.parametrize("content", [None, b"", b"junk"])
def test_an_authority_that_cannot_be_used_is_named(tmp_path: Path, content: bytes | None) -> None:
    clients = ClientFiles(tmp_path)
    if content is None:
        clients.ca.unlink()
    else:
        clients.ca.write_bytes(content)
    with pytest.raises(CertificateError) as caught:
        clients.certificate()
    assert str(caught.value).startswith(f"authority of clients {clients.ca}: ")

"""The certificate that the webhook makes itself: never served before the apiserver can trust it."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path

import pytest
from cryptography import x509

from controller.kube.errors import Forbidden
from controller.telemetry.authority import Authority
from controller.telemetry.tls import CertificateError, Clients
from tests.support.fake_time import FakeTime, turns_until
from tests.support.trusting import (
    HOME,
    MUTATING,
    SECRET,
    SERVICE,
    VALIDATING,
    KeptObjects,
    a_registration,
    another_authority,
    bundles,
    is_trusted,
    served,
)
from webhook.trust.own_certificate import SETTLING_SECONDS, OwnCertificate

DAY = 86_400.0
EMPTY = {"metadata": {"name": "penstock-webhook-ca"}}


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    return FakeTime().install(monkeypatch)


@pytest.fixture
def objects() -> KeptObjects:
    """As they are when Penstock was just installed."""
    registration = a_registration(SERVICE, SERVICE)
    return KeptObjects(**{SECRET: EMPTY, MUTATING: registration, VALIDATING: registration})


def replica(objects: KeptObjects, client_ca: Path | None = None) -> OwnCertificate:
    return OwnCertificate(objects.as_client, HOME, Clients(client_ca))


def shown(certificate: OwnCertificate) -> x509.Certificate:
    found = served(certificate.context())
    assert found is not None
    return found


def trusted_now(objects: KeptObjects, certificate: OwnCertificate) -> bool:
    """Whether every registration trusts what is served."""
    every = [*bundles(objects.at(MUTATING)), *bundles(objects.at(VALIDATING))]
    return all(is_trusted(shown(certificate), pem) for pem in every)


async def started(objects: KeptObjects, time: FakeTime, client_ca: Path | None = None) -> OwnCertificate:
    certificate = replica(objects, client_ca)
    assert not await certificate.refresh()
    time.now += SETTLING_SECONDS
    assert await certificate.refresh()
    return certificate


async def test_the_first_start_fills_an_empty_secret(objects: KeptObjects, time: FakeTime) -> None:
    certificate = replica(objects)
    assert certificate.missing() == "no certificate yet: it is being made"
    assert not await certificate.refresh()
    data = {name: base64.b64decode(value) for name, value in objects.at(SECRET)["data"].items()}
    assert bundles(objects.at(MUTATING)) == bundles(objects.at(VALIDATING)) == [data["tls.crt"]] * 2
    time.now += SETTLING_SECONDS - 1
    assert not await certificate.refresh()
    assert served(certificate.context()) is None
    assert certificate.missing() is not None

    time.now += 1
    assert await certificate.refresh()
    assert certificate.missing() is None
    assert is_trusted(shown(certificate), data["tls.crt"])
    names = shown(certificate).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "penstock-webhook.penstock-system.svc" in names.get_values_for_type(x509.DNSName)


async def test_a_new_authority_is_trusted_before_it_is_used(objects: KeptObjects, time: FakeTime) -> None:
    certificate = await started(objects, time)
    before = shown(certificate)
    objects.change(SECRET, EMPTY)
    assert not await certificate.refresh()
    assert shown(certificate) == before
    assert trusted_now(objects, certificate)
    (new, *_) = bundles(objects.at(MUTATING))
    assert base64.b64decode(objects.at(SECRET)["data"]["tls.crt"]) in new

    time.now += SETTLING_SECONDS
    assert await certificate.refresh()
    assert shown(certificate) != before
    assert trusted_now(objects, certificate)


async def test_it_settles_anew_when_the_trust_was_removed(objects: KeptObjects, time: FakeTime) -> None:
    certificate = replica(objects)
    await certificate.refresh()
    time.now += SETTLING_SECONDS
    objects.change(MUTATING, a_registration(SERVICE))
    assert not await certificate.refresh()
    time.now += SETTLING_SECONDS
    assert await certificate.refresh()


async def test_another_replica_that_starts_waits_as_well(objects: KeptObjects, time: FakeTime) -> None:
    # the apiserver may not have heard yet of what the first one wrote
    await replica(objects).refresh()
    objects.written.clear()
    other = await started(objects, time)
    assert objects.written == []
    assert trusted_now(objects, other)


async def test_replicas_that_start_at_once_share_an_authority(objects: KeptObjects, time: FakeTime) -> None:
    first, second = replica(objects), replica(objects)

    async def both() -> list[bool]:
        return list(await asyncio.gather(first.refresh(), second.refresh()))

    assert await both() == [False, False]
    time.now += SETTLING_SECONDS
    assert await both() == [True, True]
    assert trusted_now(objects, first)
    assert trusted_now(objects, second)
    count = len(objects.written)
    time.now += DAY
    assert await both() == [True, True]
    assert len(objects.written) == count


async def test_the_authority_of_a_quicker_replica_is_used(objects: KeptObjects, time: FakeTime) -> None:
    pair = Authority.create("quicker", now=time.now, days=3650).pair
    kept = {"tls.crt": pair.certificate_pem, "tls.key": pair.key_pem, "ca.crt": pair.certificate_pem}
    data = {name: base64.b64encode(value).decode() for name, value in kept.items()}
    objects.meanwhile[SECRET] = lambda: objects.change(SECRET, {**EMPTY, "data": data})
    certificate = await started(objects, time)
    assert is_trusted(shown(certificate), pair.certificate_pem)
    assert objects.at(SECRET)["data"] == data


async def test_a_removed_bundle_comes_back_at_once(objects: KeptObjects, time: FakeTime) -> None:
    certificate = await started(objects, time)
    before = shown(certificate)
    for pem in (b"", b"no certificate"):
        objects.change(VALIDATING, a_registration(SERVICE, pem=pem))
        assert await certificate.refresh()
        assert trusted_now(objects, certificate)
    assert shown(certificate) == before


async def test_a_certificate_is_renewed_before_its_end(objects: KeptObjects, time: FakeTime) -> None:
    certificate = await started(objects, time)
    before, count = shown(certificate), len(objects.written)
    time.now += 59 * DAY
    assert await certificate.refresh()
    assert shown(certificate) == before
    time.now += DAY
    assert await certificate.refresh()
    assert shown(certificate) != before
    assert before.not_valid_after_utc.timestamp() - time.now > 29 * DAY
    assert len(objects.written) == count


async def test_a_certificate_that_ended_is_not_ready(time: FakeTime) -> None:
    objects = Refusing(**{SECRET: EMPTY, MUTATING: a_registration(SERVICE)})
    objects.refuses = False
    certificate = replica(objects)
    assert certificate.expires() == 0
    certificate = await started(objects, time)
    assert certificate.expires() == shown(certificate).not_valid_after_utc.timestamp()
    objects.change(SECRET, EMPTY)
    objects.refuses = True
    time.now += 90 * DAY
    with pytest.raises(Forbidden):
        await certificate.refresh()
    assert str(certificate.missing()).startswith("the certificate expired at ")


async def test_what_a_clock_ahead_made_is_made_again(objects: KeptObjects, time: FakeTime) -> None:
    time.now += DAY
    certificate = await started(objects, time)
    assert shown(certificate).not_valid_before_utc.timestamp() > time.now - DAY
    time.now -= DAY
    assert not await certificate.refresh()
    time.now += SETTLING_SECONDS
    assert await certificate.refresh()
    assert shown(certificate).not_valid_before_utc.timestamp() <= time.now
    assert trusted_now(objects, certificate)


async def write(file: Path, pem: bytes) -> None:
    await asyncio.to_thread(file.write_bytes, pem)


async def test_a_changed_authority_of_clients_takes_effect(
    objects: KeptObjects, time: FakeTime, tmp_path: Path
) -> None:
    file = tmp_path / "ca.crt"
    await write(file, another_authority(time.now))
    certificate = await started(objects, time, file)
    before = certificate.context()
    assert len(before.get_ca_certs()) == 1
    await write(file, another_authority(time.now) + another_authority(time.now))
    assert await certificate.refresh()
    assert len(certificate.context().get_ca_certs()) == 2

    await write(file, b"junk")
    kept = certificate.context()
    with pytest.raises(CertificateError, match=f"authority of clients {file}: "):
        await certificate.refresh()
    assert certificate.context() is kept
    assert certificate.missing() is None


class Refusing(KeptObjects):
    """Refuses to write the Secret for as long as `refuses`."""

    refuses = True

    async def put(self, path: str, body: dict[str, object]) -> bytes:
        if path == SECRET and self.refuses:
            raise Forbidden(403, "Forbidden", "secrets is forbidden")
        return await super().put(path, body)


async def test_it_is_told_why_there_is_no_certificate(time: FakeTime) -> None:
    objects = Refusing(**{SECRET: EMPTY, MUTATING: a_registration(SERVICE)})
    certificate = replica(objects)
    async with asyncio.TaskGroup() as group:
        watching = group.create_task(certificate.watch(), name="watch")
        await turns_until(lambda: "secrets is forbidden" in str(certificate.missing()))
        assert bundles(objects.at(MUTATING)) == [b""]
        objects.refuses = False
        await turns_until(lambda: certificate.missing() is None, most=10**6)
        watching.cancel()
    assert is_trusted(shown(certificate), *bundles(objects.at(MUTATING)))

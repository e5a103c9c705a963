"""Whom the registrations of the webhook trust: its authority, and for a while those that they trusted before."""

from __future__ import annotations

import pytest
from cryptography import x509

from tests.support.fake_time import FakeTime
from tests.support.trusting import (
    HOME,
    MUTATING,
    SERVICE,
    VALIDATING,
    KeptObjects,
    a_registration,
    another_authority,
    bundles,
)
from webhook.trust.registrations import KEPT_SECONDS, Registrations

ELSEWHERE = [{"name": "other", "namespace": HOME}, {"name": "penstock-webhook", "namespace": "another"}]


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    return FakeTime().install(monkeypatch)


@pytest.fixture
def ours(time: FakeTime) -> bytes:
    return another_authority(time.now)


@pytest.fixture
def before(time: FakeTime) -> bytes:
    return another_authority(time.now)


def trusted(objects: KeptObjects, path: str = MUTATING) -> set[x509.Certificate]:
    (pem, *more) = bundles(objects.at(path))
    assert not more
    return certificates(pem)


def certificates(*pem: bytes) -> set[x509.Certificate]:
    return {one for text in pem for one in x509.load_pem_x509_certificates(text)}


async def test_only_what_leads_to_the_webhook_is_written(ours: bytes) -> None:
    registration = a_registration(*ELSEWHERE, SERVICE)
    registration["webhooks"].append({"name": "by url", "clientConfig": {"url": "https://example.com"}})
    objects = KeptObjects(**{MUTATING: registration, VALIDATING: a_registration(*ELSEWHERE)})
    assert await Registrations(objects.as_client, HOME).trust(ours) == 1
    assert bundles(objects.at(MUTATING)) == [b"", b"", ours, b""]
    assert objects.written == [MUTATING]


async def test_an_authority_of_before_is_trusted_for_a_while(time: FakeTime, ours: bytes, before: bytes) -> None:
    objects = KeptObjects(**{MUTATING: a_registration(SERVICE, pem=before)})
    registrations = Registrations(objects.as_client, HOME)
    assert await registrations.trust(ours) == 1
    time.now += KEPT_SECONDS - 1
    assert await registrations.trust(ours) == 0
    assert trusted(objects) == certificates(ours, before)
    time.now += 1
    assert await registrations.trust(ours) == 1
    assert trusted(objects) == certificates(ours)


async def test_another_source_that_takes_over_stays_trusted(time: FakeTime, ours: bytes, before: bytes) -> None:
    # as when Helm rolls back to a release whose certificate is another
    objects = KeptObjects(**{MUTATING: a_registration(SERVICE)})
    registrations = Registrations(objects.as_client, HOME)
    for _ in range(2):
        await registrations.trust(ours)
        time.now += 2 * KEPT_SECONDS
        objects.change(MUTATING, a_registration(SERVICE, pem=before))
        assert await registrations.trust(ours) == 1
        assert trusted(objects) == certificates(ours, before)
        time.now += KEPT_SECONDS
        await registrations.trust(ours)


async def test_replicas_do_not_undo_what_others_write(time: FakeTime, ours: bytes, before: bytes) -> None:
    objects = KeptObjects(**{MUTATING: a_registration(SERVICE, pem=before)})
    first, second = (Registrations(objects.as_client, HOME) for _ in range(2))
    changes = []
    for _ in range(30):
        changes += [await first.trust(ours), await second.trust(ours)]
        time.now += KEPT_SECONDS / 10
    assert sum(changes) == 2
    assert trusted(objects) == certificates(ours)


async def test_a_conflict_is_tried_again_with_what_is_there(ours: bytes, before: bytes) -> None:
    objects = KeptObjects(**{MUTATING: a_registration(SERVICE)})
    now = a_registration(SERVICE, ELSEWHERE[0], pem=before)
    objects.meanwhile[MUTATING] = lambda: objects.change(MUTATING, now)
    assert await Registrations(objects.as_client, HOME).trust(ours) == 1
    first, second = bundles(objects.at(MUTATING))
    assert certificates(first) == certificates(ours, before)
    assert second == before


async def test_a_registration_that_goes_is_no_fault(ours: bytes) -> None:
    objects = KeptObjects(**{MUTATING: a_registration(SERVICE)})
    objects.meanwhile[MUTATING] = lambda: objects.delete(MUTATING)
    assert await Registrations(objects.as_client, HOME).trust(ours) == 0

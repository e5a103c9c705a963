from __future__ import annotations

import base64
import ssl
from typing import Any

import orjson
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from controller.extension_api.certificates import SERVICE, trusting_context
from controller.extension_api.front_proxy import CONFIG_MAP, FrontProxy
from controller.extension_api.registration import API_SERVICE, register
from controller.extension_api.statuses import Refused
from controller.extension_api.trust import Trust
from controller.kube import clock
from controller.kube.errors import Conflict, KubeError, NotFound
from controller.telemetry.authority import Authority, KeyPair
from controller.telemetry.shared_authority import AuthoritySecret, SharedAuthority
from tests.support.fake_client import FakeClient
from tests.support.fake_time import FakeTime

NOW = 1_800_000_000.0
YEAR = 365 * 86_400.0
NONE = NotFound(404, "NotFound", "")
PATH = "/api/v1/namespaces/penstock-system/secrets"


def a_secret(pair: KeyPair, bundle: bytes) -> bytes:
    kept = {"tls.crt": pair.certificate_pem, "tls.key": pair.key_pem, "ca.crt": bundle}
    data = {name: base64.b64encode(value).decode() for name, value in kept.items()}
    return orjson.dumps({"metadata": {"name": "penstock-visibility-ca", "resourceVersion": "7"}, "data": data})


def an_authority(*, now: float = NOW, days: float = 3650) -> KeyPair:
    return Authority.create("test", now=now, days=days).pair


async def read(client: FakeClient, now: float = NOW) -> SharedAuthority:
    return await AuthoritySecret(client.as_client, "penstock-system", SERVICE).read(now)


def data_of(body: Any) -> dict[str, bytes]:
    return {name: base64.b64decode(value) for name, value in body["data"].items()}


async def test_an_authority_is_made_where_there_is_none() -> None:
    client = FakeClient().will("GET", NONE).will("POST", b"{}")
    made = await read(client)
    (call,) = client.made("POST")
    assert (call.path, call.body["type"]) == (PATH, "kubernetes.io/tls")
    assert data_of(call.body)["tls.key"] == made.pair.key_pem
    assert made.bundle_pem == made.pair.certificate_pem


async def test_all_replicas_share_one_authority() -> None:
    pair = an_authority()
    client = FakeClient().will("GET", NONE, a_secret(pair, pair.certificate_pem))
    client.will("POST", Conflict(409, "AlreadyExists", ""))
    assert await read(client) == SharedAuthority(pair, pair.certificate_pem)


async def test_beside_a_new_authority_the_old_is_trusted() -> None:
    old = an_authority()
    client = FakeClient().will("GET", a_secret(old, old.certificate_pem)).will("PUT", b"{}")
    made = await read(client, NOW + 9.5 * YEAR)
    (call,) = client.made("PUT")
    assert call.body["metadata"]["resourceVersion"] == "7"
    assert made.pair != old
    assert made.bundle_pem == made.pair.certificate_pem + old.certificate_pem


@pytest.mark.parametrize("broken", [b'{"data": null}', b'{"data": {"tls.crt": "eA==", "tls.key": "eA=="}}'])
async def test_what_is_no_authority_is_replaced(broken: bytes) -> None:
    client = FakeClient().will("GET", broken).will("PUT", b"{}")
    made = await read(client)
    assert made.bundle_pem == made.pair.certificate_pem


async def test_what_nobody_could_trust_is_replaced() -> None:
    pair, other = an_authority(), an_authority()
    key = serialization.load_pem_private_key(pair.key_pem, None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    locked = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"secret")
    )
    for one, bundle in [
        (pair, b""),
        (pair, other.certificate_pem),
        (KeyPair(pair.certificate_pem, other.key_pem), pair.certificate_pem),
        (KeyPair(pair.certificate_pem, locked), pair.certificate_pem),
    ]:
        client = FakeClient().will("GET", a_secret(one, bundle)).will("PUT", b"{}")
        assert (await read(client)).pair.key_pem not in (pair.key_pem, other.key_pem, locked)


def a_front_proxy(authority: KeyPair) -> FrontProxy:
    return FrontProxy(authority.certificate_pem.decode(), frozenset(), ("x-remote-user",), (), (), ())


def test_the_service_is_named_by_what_is_served() -> None:
    context = trusting_context(
        SharedAuthority(an_authority(), b""), a_front_proxy(an_authority()), "penstock-system", now=NOW
    )
    assert context.verify_mode is ssl.CERT_OPTIONAL
    assert len(context.get_ca_certs()) == 1


def test_an_authority_that_is_none_is_told() -> None:
    broken = FrontProxy("PEM", frozenset(), ("x-remote-user",), (), (), ())
    with pytest.raises(KubeError, match="front proxy is no certificate"):
        trusting_context(SharedAuthority(an_authority(), b""), broken, "penstock-system", now=NOW)


async def test_the_bundle_is_written_where_it_is_another() -> None:
    encoded = base64.b64encode(b"bundle").decode()
    known = orjson.dumps({"spec": {"caBundle": encoded}})
    client = FakeClient().will("GET", b'{"spec": {}}', known, NONE).will("PATCH", b"{}")
    assert [await register(client.as_client, b"bundle") for _ in range(3)] == [True, True, False]
    (call,) = client.made("PATCH")
    assert (call.path, call.body) == (API_SERVICE, {"spec": {"caBundle": encoded}})


class Cluster:
    """What `Trust` reads, as it is now."""

    def __init__(self) -> None:
        self.authority, self.proxy = an_authority(now=clock.now()), an_authority()
        self.trust = Trust(FakeClient().will("GET", *[self.answer] * 90).as_client, "penstock-system")
        self._asked = 0

    def answer(self) -> bytes:
        self._asked += 1
        if self._asked % 3 == 2:
            return a_secret(self.authority, self.authority.certificate_pem)
        if self._asked % 3 == 0:
            return orjson.dumps({"spec": {"caBundle": base64.b64encode(self.authority.certificate_pem).decode()}})
        data = {
            "requestheader-client-ca-file": self.proxy.certificate_pem.decode(),
            "requestheader-allowed-names": "[]",
            "requestheader-username-headers": '["X-Remote-User"]',
            "requestheader-group-headers": "[]",
            "requestheader-extra-headers-prefix": "[]",
        }
        return orjson.dumps({"data": data})


async def test_what_is_trusted_follows_the_cluster() -> None:
    cluster = Cluster()
    with pytest.raises(Refused, match="not ready"):
        cluster.trust.front_proxy()
    assert await cluster.trust.refresh()
    first = cluster.trust.context()
    await cluster.trust.refresh()
    assert cluster.trust.context() is first
    cluster.proxy = an_authority()
    await cluster.trust.refresh()
    assert cluster.trust.context() is not first
    assert cluster.trust.front_proxy().authority_pem == cluster.proxy.certificate_pem.decode()


async def test_what_a_clock_ahead_made_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    time = FakeTime().install(monkeypatch)
    cluster = Cluster()
    assert await cluster.trust.refresh()
    first = cluster.trust.context()
    time.now -= 60
    assert await cluster.trust.refresh()
    assert cluster.trust.context() is not first


async def test_an_authority_that_is_not_valid_yet_is_replaced() -> None:
    ahead = an_authority(now=NOW + YEAR)
    client = FakeClient().will("GET", a_secret(ahead, ahead.certificate_pem)).will("PUT", b"{}")
    made = await read(client)
    assert Authority.load(made.pair).begins <= NOW
    assert ahead.certificate_pem in made.bundle_pem  # for replicas that still serve by it


def test_the_authoritys_end_is_known() -> None:
    pair = an_authority(days=1)
    ends = x509.load_pem_x509_certificate(pair.certificate_pem).not_valid_after_utc.timestamp()
    assert Authority.load(pair).expires == ends == NOW + 86_400


def test_the_config_map_is_that_of_kubernetes() -> None:
    assert CONFIG_MAP.endswith("/namespaces/kube-system/configmaps/extension-apiserver-authentication")

"""A small certificate authority: makes one, and signs server and client certificates with it.

Generic: it knows PEM bytes and names, no files, no sandbox and no Kubernetes objects. Time is an argument.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_SKEW = dt.timedelta(hours=1)
"""Certificates are valid from a little before now, for readers whose clock is behind ours."""


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key (PKCS#8), both PEM."""

    certificate_pem: bytes
    key_pem: bytes


class Authority:
    """A self-signed authority with an EC P-256 key. `now` is in seconds since the epoch, lifetimes in days."""

    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        self._certificate = certificate
        self._key = key

    @classmethod
    def create(cls, common_name: str, *, now: float, days: float) -> Self:
        """Make a new authority that signs leaf certificates only."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = _name(common_name)
        builder = (
            _builder(name, name, key.public_key(), now=now, days=days)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_key_usage(signs_certificates=True), critical=True)
        )
        return cls(builder.sign(key, hashes.SHA256()), key)

    @classmethod
    def load(cls, pair: KeyPair) -> Self:
        """Read an authority back. Raises ValueError when the PEM is not a certificate and the EC key of it."""
        try:
            key = serialization.load_pem_private_key(pair.key_pem, password=None)
        except TypeError as error:
            raise ValueError(f"the authority's key is encrypted: {error}") from None
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ValueError("the authority's key is not an elliptic curve key")
        certificate = x509.load_pem_x509_certificate(pair.certificate_pem)
        if certificate.public_key() != key.public_key():
            raise ValueError("the authority's key is not that of its certificate")
        return cls(certificate, key)

    @property
    def pair(self) -> KeyPair:
        """The authority's own certificate and key, to be kept."""
        return _pair(self._certificate, self._key)

    @property
    def begins(self) -> float:
        """From when on its own certificate is valid, in seconds since the epoch."""
        return self._certificate.not_valid_before_utc.timestamp()

    @property
    def expires(self) -> float:
        """When its own certificate ends, in seconds since the epoch."""
        return self._certificate.not_valid_after_utc.timestamp()

    def serving(self, dns_names: Sequence[str], addresses: Sequence[str] = (), *, now: float, days: float) -> KeyPair:
        """Sign a server certificate for DNS names and IP addresses; raises ValueError without any of them."""
        if not dns_names and not addresses:
            raise ValueError("a serving certificate needs at least one DNS name or IP address")
        names: list[x509.GeneralName] = [x509.DNSName(name) for name in dns_names]
        names += [x509.IPAddress(ip_address(address)) for address in addresses]
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._leaf(_name([*dns_names, *addresses][0]), key, now=now, days=days)
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return self._signed(builder, key, ExtendedKeyUsageOID.SERVER_AUTH)

    def client(self, user: str, groups: Sequence[str] = (), *, now: float, days: float) -> KeyPair:
        """Sign a client certificate that Kubernetes reads as `user` in `groups`."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._leaf(_name(user, groups), key, now=now, days=days)
        return self._signed(builder, key, ExtendedKeyUsageOID.CLIENT_AUTH)

    def _leaf(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, *, now: float, days: float
    ) -> x509.CertificateBuilder:
        issuer_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return (
            _builder(subject, self._certificate.subject, key.public_key(), now=now, days=days)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(signs_certificates=False), critical=True)
            .add_extension(issuer_id, critical=False)
        )

    def _signed(
        self, builder: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey, purpose: x509.ObjectIdentifier
    ) -> KeyPair:
        builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        return _pair(builder.sign(self._key, hashes.SHA256()), key)


def signing_key() -> tuple[bytes, bytes]:
    """Make a bare EC key for signing tokens; private and public PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return _key_pem(key), public


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, *, now: float, days: float
) -> x509.CertificateBuilder:
    start = dt.datetime.fromtimestamp(now, dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(start - _SKEW)
        .not_valid_after(start + dt.timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _name(common_name: str, organizations: Sequence[str] = ()) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, name) for name in organizations]
    # X.509 allows 64 characters; serving certificates are matched by their alternative names anyway
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common_name[:64])])


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> KeyPair:
    return KeyPair(_certificate_pem(certificate), _key_pem(key))


def _certificate_pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )

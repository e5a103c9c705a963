"""What an apiserver keeps about the webhook's certificate: the authority's Secret and registrations."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

import orjson
from cryptography import x509
from cryptography.exceptions import InvalidSignature

from controller.kube.client import Client
from controller.kube.errors import Conflict, NotFound
from controller.telemetry.authority import Authority
from tests.support.fake_time import turns

Json = dict[str, Any]
HOME = "penstock-system"
SECRET = f"/api/v1/namespaces/{HOME}/secrets/penstock-webhook-ca"
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
MUTATING = f"{_ADMISSION}/mutatingwebhookconfigurations/penstock"
VALIDATING = f"{_ADMISSION}/validatingwebhookconfigurations/penstock-pod-policies"
SERVICE = {"name": "penstock-webhook", "namespace": HOME}


class KeptObjects:
    """Documents by their path; a write that was prepared of an older version is a Conflict.

    `meanwhile` is done once, before the next write of the path: somebody else is quicker.
    """

    def __init__(self, **documents: Json) -> None:
        self.meanwhile: dict[str, Callable[[], None]] = {}
        self.written: list[str] = []
        self._documents: dict[str, Json] = {}
        self._version = 0
        for path, document in documents.items():
            self.change(path, document)

    @property
    def as_client(self) -> Client:
        return cast("Client", self)

    def change(self, path: str, document: Json) -> None:
        """Write it as somebody else."""
        self._version += 1
        version = {"resourceVersion": str(self._version)}
        self._documents[path] = {**document, "metadata": {**document.get("metadata", {}), **version}}

    def delete(self, path: str) -> None:
        del self._documents[path]

    def at(self, path: str) -> Json:
        """What is there now."""
        return cast("Json", orjson.loads(orjson.dumps(self._documents[path])))

    async def get(self, path: str) -> bytes:
        await turns(1)  # others get their turn between a read and a write
        if path not in self._documents:
            raise NotFound(404, "NotFound", path)
        return orjson.dumps(self._documents[path])

    async def put(self, path: str, body: Json) -> bytes:
        self.meanwhile.pop(path, lambda: None)()
        await turns(1)
        if path not in self._documents:
            raise NotFound(404, "NotFound", path)
        now = self._documents[path]
        if body["metadata"]["resourceVersion"] != now["metadata"]["resourceVersion"]:
            raise Conflict(409, "Conflict", path)
        self.change(path, body)
        self.written.append(path)
        return b"{}"


def a_registration(*services: Json, pem: bytes = b"") -> Json:
    """One with a webhook for each of the Services, all of which trust the same."""
    bundle = {"caBundle": base64.b64encode(pem).decode()} if pem else {}
    return {"webhooks": [{"name": str(one), "clientConfig": {"service": one, **bundle}} for one in services]}


def bundles(registration: Json) -> list[bytes]:
    """What each of its webhooks trusts, as PEM."""
    return [base64.b64decode(one["clientConfig"].get("caBundle", "")) for one in registration["webhooks"]]


def another_authority(now: float) -> bytes:
    """The certificate of one that is not Penstock's."""
    return Authority.create("another", now=now, days=365).pair.certificate_pem


def served(context: ssl.SSLContext) -> x509.Certificate | None:
    """The certificate that a client of this context is shown, whether or not it trusts that; None: it is refused."""
    asking = ssl.create_default_context()
    asking.check_hostname, asking.verify_mode = False, ssl.CERT_NONE
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    client, server = asking.wrap_bio(back, there), context.wrap_bio(there, back, server_side=True)
    for end in (client, server) * 3:
        try:
            end.do_handshake()
        except ssl.SSLWantReadError:
            continue
        except ssl.SSLError:
            return None
    return x509.load_der_x509_certificate(client.getpeercert(binary_form=True) or b"")


def is_trusted(certificate: x509.Certificate, pem: bytes) -> bool:
    """Whether an authority of the bundle has signed it."""
    for authority in x509.load_pem_x509_certificates(pem) if pem else ():
        with suppress(ValueError, InvalidSignature):
            certificate.verify_directly_issued_by(authority)
            return True
    return False

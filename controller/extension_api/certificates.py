"""The certificate that is served, and what is needed to verify those that clients show."""

from __future__ import annotations

import ssl
from typing import Final

from controller.extension_api.front_proxy import FrontProxy
from controller.kube.errors import KubeError
from controller.telemetry.shared_authority import SharedAuthority, load_serving

SERVICE: Final = "penstock-visibility"


class TrustingContext(ssl.SSLContext):
    """What secures a connection, and which front proxy its peer was verified for."""

    front_proxy: FrontProxy


def trusting_context(
    authority: SharedAuthority, front_proxy: FrontProxy, namespace: str, *, now: float
) -> TrustingContext:
    """Return what serves the Service of the namespace to any client, and verifies the certificate of who shows one.

    Raises KubeError where the authority of the front proxy is no certificate.
    """
    context = TrustingContext(ssl.PROTOCOL_TLS_SERVER)
    load_serving(context, authority, service=SERVICE, namespace=namespace, now=now)
    try:
        context.load_verify_locations(cadata=front_proxy.authority_pem)
    except ssl.SSLError as error:
        raise KubeError(f"the authority of the apiserver's front proxy is no certificate: {error}") from error
    context.verify_mode = ssl.CERT_OPTIONAL
    context.front_proxy = front_proxy
    return context

"""The certificates, keys and kubeconfigs of one sandbox, as files. `telemetry/authority` makes them."""

from __future__ import annotations

import base64
from collections.abc import Sequence

import yaml

from controller.sandbox.files import make_private_folder, write_private
from controller.sandbox.layout import Layout
from controller.telemetry.authority import Authority, KeyPair, signing_key

SERVICE_IP = "10.96.0.1"
"""First address of the service range: what pods would call the apiserver by."""

FRONT_PROXY = "front-proxy-client"
"""Common name of the certificate by which the apiserver passes requests on to extension API servers."""

_DAYS = 365.0
_APISERVER_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
_CLIENTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "admin": ("penstock-sandbox-admin", ("system:masters",)),
    # these two names are the ones that Kubernetes' own RBAC roles are bound to
    "kube-controller-manager": ("system:kube-controller-manager", ()),
    "kube-scheduler": ("system:kube-scheduler", ()),
    # kwok plays the kubelets of all nodes, for which no built-in role exists
    "kwok": ("kwok", ("system:masters",)),
    "etcd-client": ("kube-apiserver", ()),
}


def write_certificates(layout: Layout, *, now: float) -> None:
    """Make both authorities, the serving certificate, the client certificates and the key of service accounts."""
    make_private_folder(layout.pki)
    authority = Authority.create("penstock-sandbox", now=now, days=_DAYS)
    _write_pair(layout, "ca", authority.pair)
    serving = authority.serving(_APISERVER_NAMES, ["127.0.0.1", SERVICE_IP], now=now, days=_DAYS)
    _write_pair(layout, "server", serving)
    for name, (user, groups) in _CLIENTS.items():
        _write_pair(layout, name, authority.client(user, groups, now=now, days=_DAYS))
    # an authority of its own, as kubeadm makes it: whoever has a certificate by it may speak for anybody
    front_proxy = Authority.create("penstock-sandbox-front-proxy", now=now, days=_DAYS)
    _write_pair(layout, "front-proxy-ca", front_proxy.pair)
    _write_pair(layout, FRONT_PROXY, front_proxy.client(FRONT_PROXY, now=now, days=_DAYS))
    private, public = signing_key()
    write_private(layout.pki / "service-account.key", private)
    write_private(layout.pki / "service-account.pub", public)


def write_kubeconfigs(layout: Layout, url: str) -> None:
    """Write the administrator's kubeconfig and one for each component that talks to the apiserver at `url`."""
    make_private_folder(layout.kubeconfigs)
    for name in _CLIENTS:
        path = layout.kubeconfig if name == "admin" else layout.kubeconfigs / name
        user = {
            "client-certificate-data": _base64((layout.pki / f"{name}.crt").read_bytes()),
            "client-key-data": _base64((layout.pki / f"{name}.key").read_bytes()),
        }
        if name != "etcd-client":
            write_private(path, kubeconfig(layout, url, user))


def kubeconfig(layout: Layout, url: str, user: dict[str, str], *, namespace: str = "default") -> bytes:
    """A kubeconfig that holds all it needs, so that it can be copied elsewhere on this machine."""
    name = f"penstock-{layout.folder.name}"
    cluster = {"server": url, "certificate-authority-data": _base64(layout.ca.read_bytes())}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": namespace}}],
        "current-context": name,
    }
    return yaml.safe_dump(content, sort_keys=False).encode()


def serving_certificate(layout: Layout, dns_names: Sequence[str], addresses: Sequence[str], *, now: float) -> KeyPair:
    """Sign a server certificate with the sandbox's authority, for a webhook that the apiserver is to call."""
    key = (layout.pki / "ca.key").read_bytes()
    authority = Authority.load(KeyPair(layout.ca.read_bytes(), key))
    return authority.serving(dns_names, addresses, now=now, days=_DAYS)


def _write_pair(layout: Layout, name: str, pair: KeyPair) -> None:
    write_private(layout.pki / f"{name}.crt", pair.certificate_pem)
    write_private(layout.pki / f"{name}.key", pair.key_pem)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()

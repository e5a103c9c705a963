"""The sandbox's apiserver passes requests on to extension API servers as kubeadm sets it up."""

from __future__ import annotations

from pathlib import Path

from cryptography import x509

from controller.sandbox import certificates
from controller.sandbox.components import Ports, in_order
from controller.sandbox.layout import Layout
from controller.sandbox.spec import Spec

NOW = 1_800_000_000.0
PROGRAMS = {name: name for name in ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")}


def flags_of_apiserver(layout: Layout) -> dict[str, str]:
    (apiserver,) = in_order(Spec(name="a", binaries=PROGRAMS), layout, Ports.free())[1]
    pairs = [argument.removeprefix("--").partition("=") for argument in apiserver.arguments[1:]]
    return {flag: value for flag, _, value in pairs}


def test_the_apiserver_has_a_certificate_for_extensions(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "one")
    certificates.write_certificates(layout, now=NOW)
    flags = flags_of_apiserver(layout)

    def certificate(flag: str) -> x509.Certificate:
        return x509.load_pem_x509_certificate(Path(flags[flag]).read_bytes())

    authority, shown = certificate("requestheader-client-ca-file"), certificate("proxy-client-cert-file")
    shown.verify_directly_issued_by(authority)
    assert authority.subject != certificate("client-ca-file").subject
    assert shown.subject.rfc4514_string() == f"CN={flags['requestheader-allowed-names']}"
    assert Path(flags["proxy-client-key-file"]).read_bytes().startswith(b"-----BEGIN PRIVATE KEY-----")


def test_aggregation_goes_by_services_not_endpoints(tmp_path: Path) -> None:
    """With the other way the Service of a sandbox, an ExternalName, is refused."""
    assert "enable-aggregator-routing" not in flags_of_apiserver(Layout(tmp_path))

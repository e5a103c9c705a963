"""The programs of a sandbox: their command lines and the address that tells whether each is ready.

Pure text from a spec, paths and ports; `supervisor` runs them.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from controller.sandbox.certificates import FRONT_PROXY
from controller.sandbox.layout import Layout
from controller.sandbox.operator_setup import kubeconfig_of
from controller.sandbox.operators import Operator, chosen
from controller.sandbox.spec import Spec

LOOPBACK = "127.0.0.1"
STAGES = Path(__file__).parent / "stages"
NODE_ANNOTATION = "kwok.x-k8s.io/node"

AUDIT_POLICY = b"""\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  verbs: [create, update, patch, delete, deletecollection]
  resources:
  - group: ""
    resources: [pods, "pods/*"]
- level: Metadata
  userGroups: ["system:serviceaccounts:penstock-system"]
- level: None
"""


@dataclass(frozen=True, slots=True)
class Component:
    """One program: how to start it, and where it says that it is ready."""

    name: str
    arguments: tuple[str, ...]
    health_url: str


@dataclass(frozen=True, slots=True)
class Ports:
    """The loopback ports of one sandbox."""

    etcd: int
    etcd_health: int
    apiserver: int
    controller_manager: int
    scheduler: int
    kwok: int
    operators: tuple[int, ...] = ()

    @classmethod
    def free(cls, operators: int = 0) -> Ports:
        """Ports that nobody uses at this moment, with as many operators; somebody may take one before we do."""
        with ExitStack() as stack:
            # all are held at once, so that they differ
            sockets = [stack.enter_context(socket.socket()) for _ in range(6 + operators)]
            for one in sockets:
                one.bind((LOOPBACK, 0))
            etcd, health, *others = [one.getsockname()[1] for one in sockets]
            apiserver, manager, scheduler, kwok, *rest = others
            return cls(etcd, health, apiserver, manager, scheduler, kwok, tuple(rest))


def apiserver_url(ports: Ports) -> str:
    """Where clients find the apiserver."""
    return f"https://{LOOPBACK}:{ports.apiserver}"


def in_order(
    spec: Spec, layout: Layout, ports: Ports
) -> tuple[tuple[Component, ...], tuple[Component, ...], tuple[Component, ...]]:
    """The control plane in steps: etcd, the apiserver, the others. Each starts when all of the one before are ready."""
    return (
        (_etcd(spec, layout, ports),),
        (_apiserver(spec, layout, ports),),
        (_controller_manager(spec, layout, ports), _scheduler(spec, layout, ports), _kwok(spec, layout, ports)),
    )


def of_operators(spec: Spec, layout: Layout, ports: Ports) -> list[tuple[Operator, Component]]:
    """The operators that were asked for: they start last, and `operator_setup.prepare` comes before."""
    pairs = zip(chosen(spec.operators), ports.operators, strict=True)
    return [(operator, _operator(operator, spec, layout, port)) for operator, port in pairs]


def _operator(operator: Operator, spec: Spec, layout: Layout, port: int) -> Component:
    address = f"{LOOPBACK}:{port}"
    program = spec.binaries[operator.program]
    command = operator.command(program, kubeconfig=kubeconfig_of(operator, layout), address=address)
    return Component(operator.program, command, f"http://{address}/readyz")


def _etcd(spec: Spec, layout: Layout, ports: Ports) -> Component:
    url = f"https://{LOOPBACK}:{ports.etcd}"
    health = f"http://{LOOPBACK}:{ports.etcd_health}"
    flags = {
        "data-dir": layout.data,
        "listen-client-urls": url,
        "advertise-client-urls": url,
        # one member never talks to a peer; port 0 keeps the fixed default port out of the way
        "listen-peer-urls": f"http://{LOOPBACK}:0",
        "listen-metrics-urls": health,
        # etcd knows no users: without client certificates everyone on this machine could read every Secret
        "cert-file": layout.pki / "server.crt",
        "key-file": layout.pki / "server.key",
        "trusted-ca-file": layout.ca,
        "client-cert-auth": "true",
        # the data is thrown away with the sandbox
        "unsafe-no-fsync": "true",
        "quota-backend-bytes": 8 * 2**30,
        "log-level": "warn",
    }
    return _component(spec, "etcd", flags, f"{health}/health")


def _apiserver(spec: Spec, layout: Layout, ports: Ports) -> Component:
    pki = layout.pki
    flags: dict[str, object] = {
        "etcd-servers": f"https://{LOOPBACK}:{ports.etcd}",
        "etcd-cafile": layout.ca,
        "etcd-certfile": pki / "etcd-client.crt",
        "etcd-keyfile": pki / "etcd-client.key",
        "bind-address": LOOPBACK,
        "secure-port": ports.apiserver,
        "tls-cert-file": pki / "server.crt",
        "tls-private-key-file": pki / "server.key",
        "client-ca-file": layout.ca,
        # the scheduler, the controller manager and extension API servers believe who shows this certificate
        "proxy-client-cert-file": pki / f"{FRONT_PROXY}.crt",
        "proxy-client-key-file": pki / f"{FRONT_PROXY}.key",
        "requestheader-client-ca-file": pki / "front-proxy-ca.crt",
        "requestheader-allowed-names": FRONT_PROXY,
        "requestheader-username-headers": "X-Remote-User",
        "requestheader-group-headers": "X-Remote-Group",
        "requestheader-extra-headers-prefix": "X-Remote-Extra-",
        "authorization-mode": "Node,RBAC",
        "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
        "service-account-key-file": pki / "service-account.pub",
        "service-account-signing-key-file": pki / "service-account.key",
        "service-cluster-ip-range": "10.96.0.0/16",
        "allow-privileged": "true",
        # Kubernetes refuses loopback addresses as endpoints, and no pod here calls the apiserver
        "endpoint-reconciler-type": "none",
    }
    if spec.audit:
        flags |= {
            "audit-policy-file": layout.audit_policy,
            "audit-log-path": layout.audit_log,
            "audit-log-maxsize": 10_000,  # megabytes: one file, so that counting lines is simple
        }
    if spec.runtime_config:
        flags["runtime-config"] = _pairs(spec.runtime_config)
    flags |= _gates(spec) | spec.apiserver_flags
    return _component(spec, "kube-apiserver", flags, f"{apiserver_url(ports)}/readyz")


def _controller_manager(spec: Spec, layout: Layout, ports: Ports) -> Component:
    flags = _client_flags(layout, "kube-controller-manager", ports.controller_manager) | {
        "controllers": "*",
        # each controller acts under its own name, with the rights that RBAC gives it; without this
        # the node lifecycle controller may not remove the not-ready taint
        "use-service-account-credentials": "true",
        "service-account-private-key-file": layout.pki / "service-account.key",
        "root-ca-file": layout.ca,
    }
    url = f"https://{LOOPBACK}:{ports.controller_manager}/healthz"
    return _component(spec, "kube-controller-manager", flags | _gates(spec), url)


def _scheduler(spec: Spec, layout: Layout, ports: Ports) -> Component:
    flags = _client_flags(layout, "kube-scheduler", ports.scheduler) | _gates(spec)
    return _component(spec, "kube-scheduler", flags, f"https://{LOOPBACK}:{ports.scheduler}/readyz")


def _kwok(spec: Spec, layout: Layout, ports: Ports) -> Component:
    address = f"{LOOPBACK}:{ports.kwok}"
    flags = {
        "kubeconfig": layout.kubeconfigs / "kwok",
        "manage-all-nodes": "false",
        "manage-nodes-with-annotation-selector": f"{NODE_ANNOTATION}=fake",
        "node-lease-duration-seconds": 40,
        "server-address": address,
        "config": ",".join(str(path) for path in sorted(STAGES.glob("*.yaml"))),
    }
    return _component(spec, "kwok", flags, f"http://{address}/healthz")


def _client_flags(layout: Layout, name: str, port: int) -> dict[str, object]:
    kubeconfig = layout.kubeconfigs / name
    return {
        "kubeconfig": kubeconfig,
        "authentication-kubeconfig": kubeconfig,
        "authorization-kubeconfig": kubeconfig,
        "bind-address": LOOPBACK,
        "secure-port": port,
        "tls-cert-file": layout.pki / "server.crt",
        "tls-private-key-file": layout.pki / "server.key",
        # one of each: an election would only cost seconds
        "leader-elect": "false",
        # the default of 20 or 50 requests a second would be what a benchmark measures
        "kube-api-qps": 5000,
        "kube-api-burst": 10000,
    }


def _gates(spec: Spec) -> dict[str, object]:
    return {"feature-gates": _pairs(spec.feature_gates)} if spec.feature_gates else {}


def _pairs(values: Mapping[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(values.items()))


def _component(spec: Spec, name: str, flags: Mapping[str, object], health_url: str) -> Component:
    arguments = (spec.binaries[name], *(f"--{flag}={value}" for flag, value in flags.items()))
    return Component(name, arguments, health_url)

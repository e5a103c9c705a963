"""What NetworkPolicies allow: a small evaluator of `networking.k8s.io/v1`, as its API reference describes them.

What no policy can forbid is allowed: a pod and the node that it runs on always reach each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import Any

from controller.core.kubernetes.labels import LabelSelector, Operator, Requirement

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Pod:
    """A pod: its address, labels and named ports, where it runs, and the labels of its namespace beside its name."""

    namespace: str
    labels: Mapping[str, str]
    ports: Mapping[str, int] = field(default_factory=dict)
    address: str = "10.244.0.7"
    node: str = "10.0.1.7"

    @property
    def of_namespace(self) -> dict[str, str]:
        """The label that every namespace has."""
        return {"kubernetes.io/metadata.name": self.namespace}


@dataclass(frozen=True)
class Host:
    """What is no pod: a node, the control plane, or something outside of the cluster."""

    address: str


Party = Pod | Host


@dataclass(frozen=True)
class Port:
    """Where a connection goes to."""

    number: int
    protocol: str = "TCP"


def allows(policies: Sequence[Json], source: Party, target: Party, port: Port) -> bool:
    """Say whether the policies let a connection through: out of its source, and into its target."""
    if {type(source), type(target)} == {Pod, Host} and _is_on(source, target):
        return True
    leaves = not isinstance(source, Pod) or _passes(policies, source, "egress", target, target, port)
    return leaves and (not isinstance(target, Pod) or _passes(policies, target, "ingress", source, target, port))


def _is_on(one: Party, other: Party) -> bool:
    pod, host = (one, other) if isinstance(one, Pod) else (other, one)
    return isinstance(pod, Pod) and pod.node == host.address


def _passes(policies: Iterable[Json], pod: Pod, direction: str, other: Party, target: Party, port: Port) -> bool:
    """Whether a pod that is isolated in this direction has a rule for the other party, or is not isolated."""
    selecting = [one for one in policies if _selects(one, pod) and direction in _directions(one)]
    rules = [rule for one in selecting for rule in one["spec"].get(direction) or ()]
    peers = "to" if direction == "egress" else "from"
    return not selecting or any(
        _is_peer(rule.get(peers), other, pod.namespace) and _is_port(rule.get("ports"), target, port) for rule in rules
    )


def _selects(policy: Json, pod: Pod) -> bool:
    is_there = policy["metadata"]["namespace"] == pod.namespace
    return is_there and _matches(policy["spec"]["podSelector"], pod.labels)


def _directions(policy: Json) -> set[str]:
    """Without policyTypes it is for what comes in, and for what goes out where it has rules for that."""
    usual = ["Ingress", "Egress"] if policy["spec"].get("egress") else ["Ingress"]
    return {one.lower() for one in policy["spec"].get("policyTypes") or usual}


def _is_peer(peers: Sequence[Json] | None, party: Party, namespace: str) -> bool:
    return not peers or any(_is_this(peer, party, namespace) for peer in peers)


def _is_this(peer: Json, party: Party, namespace: str) -> bool:
    if block := peer.get("ipBlock"):
        address = ip_address(party.address)
        outside = any(address in ip_network(one) for one in block.get("except", ()))
        return address in ip_network(block["cidr"]) and not outside
    if not isinstance(party, Pod):
        return False
    spaces = peer.get("namespaceSelector")
    is_there = party.namespace == namespace if spaces is None else _matches(spaces, party.of_namespace)
    return is_there and _matches(peer.get("podSelector") or {}, party.labels)


def _is_port(ports: Sequence[Json] | None, target: Party, port: Port) -> bool:
    return not ports or any(_is_same(one, target, port) for one in ports)


def _is_same(written: Json, target: Party, port: Port) -> bool:
    """Whether a port of a rule is this one; a name is one of the container ports of the pod that is reached."""
    if written.get("protocol", "TCP") != port.protocol:
        return False
    first = written.get("port")
    if isinstance(first, str):
        return isinstance(target, Pod) and target.ports.get(first) == port.number
    return first is None or first <= port.number <= written.get("endPort", first)


def _matches(selector: Json, labels: Mapping[str, str]) -> bool:
    equal = [Requirement(key, Operator.IN, (value,)) for key, value in selector.get("matchLabels", {}).items()]
    listed = [
        Requirement(one["key"], Operator(one["operator"]), tuple(one.get("values", ())))
        for one in selector.get("matchExpressions", ())
    ]
    return LabelSelector((*equal, *listed)).matches(labels)

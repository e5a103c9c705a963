"""Whether the scheduling directives that an update writes anew are well formed.

Mirrors `ValidatePodSpec` (k8s.io/kubernetes/pkg/apis/core/validation), directive by directive. What an update leaves
as it was has been found valid before, so only what differs is looked at. What an old pod has that today's rules
refuse stays allowed for it (`GetValidationOptionsFromPodSpecAndMeta` in pkg/api/pod).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from controller.core.kubernetes.names import (
    DNS_SUBDOMAIN_FORM,
    LABEL_KEY_FORM,
    LABEL_VALUE_FORM,
    is_dns_subdomain,
    is_label_key,
    is_label_value,
)
from controller.core.pod_update import node_affinity_validity, pod_affinity_validity, spread_validity
from controller.core.pod_update.containers import SECONDS_MOST
from controller.core.pod_update.equality import Json, same_field
from controller.core.pod_update.toleration_validity import tolerations
from controller.core.pod_update.violation import Cause, Violation, invalid, shown

_NAMES: Final = ("nodeName", "priorityClassName", "runtimeClassName")
_LONGEST_HOSTNAME: Final = 64
_PREEMPTION: Final = ("PreemptLowerPriority", "Never")


def violations(old: Json, new: Json) -> Iterator[Violation]:
    """Return what is malformed in the directives of the spec `new` that differ from those of `old`."""

    def changed(name: str) -> Any:
        """The new value, None where it is the old one."""
        return None if same_field(name, old.get(name), new.get(name)) else new.get(name)

    yield from _node_selector(changed("nodeSelector") or {})
    if affinity := changed("affinity"):
        yield from node_affinity_validity.violations(old, affinity.get("nodeAffinity") or {})
        yield from pod_affinity_validity.violations(old, affinity)
    yield from _gates(changed("schedulingGates") or [])
    yield from spread_validity.violations(old, changed("topologySpreadConstraints") or [])
    yield from tolerations("spec.tolerations", changed("tolerations") or [], compares=compares_tolerations(old))
    for name in _NAMES:
        value = changed(name)
        # an empty runtimeClassName is a name that is empty, the others are not set
        if value is not None and not is_dns_subdomain(value) and (value or name == "runtimeClassName"):
            yield invalid(f"spec.{name}", f"is {shown(value)}; must be {DNS_SUBDOMAIN_FORM}")
    yield from _preemption_policy(changed("preemptionPolicy"))
    yield from _hostname_override(new)
    seconds = changed("activeDeadlineSeconds")
    if seconds is not None and not 1 <= seconds <= SECONDS_MOST:
        yield invalid("spec.activeDeadlineSeconds", f"is {seconds}; must be from 1 to {SECONDS_MOST}")


def compares_tolerations(old: Json) -> bool:
    """Whether the operators Lt and Gt of tolerations are allowed: the feature is off, but what is there stays.

    Mirrors `allowTaintTolerationComparisonOperators`.
    """
    return any(one.get("operator") in ("Lt", "Gt") for one in old.get("tolerations") or ())


def _node_selector(selector: Json) -> Iterator[Violation]:
    """Mirrors `ValidateLabels` of k8s.io/apimachinery, as `ValidatePodSpec` asks it."""
    for key, value in selector.items():
        if not is_label_key(key):
            yield invalid("spec.nodeSelector", f"the key {shown(key)} is none; must be {LABEL_KEY_FORM}")
        if not is_label_value(value or ""):
            yield invalid("spec.nodeSelector", f"{key} is {shown(value)}; must be {LABEL_VALUE_FORM}")


def _gates(gates: list[Json]) -> Iterator[Violation]:
    """Mirrors `validateSchedulingGates`."""
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        name = gate.get("name") or ""
        path = f"spec.schedulingGates[{index}]"
        if not is_label_key(name):
            yield invalid(path, f"the name is {shown(name)}; must be {LABEL_KEY_FORM}")
        if name in seen:
            yield invalid(path, f"the gate {shown(name)} is there twice; name each once", Cause.DUPLICATE)
        seen.add(name)


def _hostname_override(spec: Json) -> Iterator[Violation]:
    """Mirrors `validatePodHostName`; a change of the fields beside it is told here too."""
    hostname, path = spec.get("hostnameOverride"), "spec.hostnameOverride"
    if hostname is None:
        return
    for name in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(name):
            yield invalid(path, f"is {shown(hostname)}; cannot be set beside {name}", Cause.FORBIDDEN)
    if len(hostname.encode()) > _LONGEST_HOSTNAME:
        text = f"is {shown(hostname)}; must have at most {_LONGEST_HOSTNAME} characters"
        yield invalid(path, text, Cause.TOO_LONG)
    if not is_dns_subdomain(hostname):
        yield invalid(path, f"is {shown(hostname)}; must be {DNS_SUBDOMAIN_FORM}")


def _preemption_policy(policy: str | None) -> Iterator[Violation]:
    """Mirrors `ValidatePreemptionPolicy`."""
    if policy is not None and policy not in _PREEMPTION:
        cause = Cause.NOT_SUPPORTED if policy else Cause.REQUIRED
        yield invalid("spec.preemptionPolicy", f"is {shown(policy)}; must be {' or '.join(_PREEMPTION)}", cause)

"""What a check finds, and what a check is: no rule lives here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from enum import StrEnum

from controller.cli.doctor_checks.cluster import Cluster


class Severity(StrEnum):
    """How bad it is, worst first."""

    ERROR = "Error"
    """Something does not work."""
    WARNING = "Warning"
    """Something works otherwise than it seems, will cease to, or could not be looked at."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong, where, and what to do. `where` and `what` are subject and predicate of one sentence."""

    severity: Severity
    where: str
    what: str
    remedy: str


def error(where: str, what: str, remedy: str) -> Finding:
    """Return a finding of something that does not work."""
    return Finding(Severity.ERROR, where, what, remedy)


def warning(where: str, what: str, remedy: str) -> Finding:
    """Return a finding of something that should be looked at."""
    return Finding(Severity.WARNING, where, what, remedy)


class NotToBeSeen(Exception):
    """What a check looks at cannot be seen in this cluster, which is no fault; the text says why."""


@dataclass(frozen=True, slots=True)
class Need:
    """A right that a check needs: a verb on a resource of an API group, in a namespace or (empty) in all."""

    verb: str
    resource: str
    group: str = ""
    namespace: str = ""

    @property
    def text(self) -> str:
        """As people write it: `list clusterqueues.penstock.dev`."""
        named = f"{self.resource}.{self.group}" if self.group else self.resource
        return f"{self.verb} {named}" + (f" in namespace {self.namespace}" if self.namespace else "")

    @property
    def attributes(self) -> dict[str, str]:
        """The resourceAttributes of a review of this right."""
        resource, _, subresource = self.resource.partition("/")
        named = {"verb": self.verb, "group": self.group, "resource": resource, "subresource": subresource}
        return {**named, "namespace": self.namespace}


@dataclass(frozen=True, slots=True)
class Check:
    """One part of the examination. `needs` says what rights it needs in a cluster; without them it is left out.

    `run` raises KubeError where the cluster does not answer, NotToBeSeen where there is nothing to look at.
    """

    name: str
    run: Callable[[Cluster], AsyncIterator[Finding]]
    needs: Callable[[Cluster], tuple[Need, ...]]

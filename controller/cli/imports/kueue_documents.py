"""From a document to one of Kueue's objects, or to the faults that a person can act on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from controller.api.parse import causes, fault_line
from controller.cli.imports.documents import ConversionError, not_one_of, toleration, without_nulls
from controller.cli.imports.kueue_objects import (
    Cohort,
    CohortV1Alpha1,
    LocalQueue,
    Named,
    PriorityClass,
    QueueV1Beta1,
    QueueV1Beta2,
    ResourceFlavor,
    WrittenObject,
)
from controller.kube.fields import member
from controller.kube.manifests import form

GROUP = "kueue.x-k8s.io"
VERSIONS = (f"{GROUP}/v1beta1", f"{GROUP}/v1beta2")
ALPHA = f"{GROUP}/v1alpha1"
_OF_ALPHA = ("Cohort", "Topology")
"""Kinds that were of v1alpha1 for long, and are so in many clusters and repositories."""

_MODELS: dict[str, tuple[type[WrittenObject], type[WrittenObject]]] = {
    "ClusterQueue": (QueueV1Beta1, QueueV1Beta2),
    "Cohort": (Cohort, Cohort),
    "LocalQueue": (LocalQueue, LocalQueue),
    "ResourceFlavor": (ResourceFlavor, ResourceFlavor),
    "WorkloadPriorityClass": (PriorityClass, PriorityClass),
}
UNCONVERTED = {
    "AdmissionCheck": "there are no admission checks here; queues that ask for one are reported separately",
    "MultiKueueCluster": "pods are not sent to other clusters",
    "MultiKueueConfig": "pods are not sent to other clusters",
    "ProvisioningRequestConfig": "no nodes are requested before pods are admitted",
    "Topology": "a gang names the node label itself; flavors that name one are reported separately",
    "Workload": "there is no object for a pod; create the pods again with the label penstock.dev/queue-name",
}
"""Kinds of the same group that are told of and left out; a queue or flavor that needs one says what that changes."""


@dataclass(frozen=True, slots=True)
class Found:
    """One object of the input: where it stands, and its parts. `spec` of a WorkloadPriorityClass is the whole."""

    where: str
    kind: str
    metadata: Named
    written_metadata: object
    spec: Any

    @property
    def label(self) -> str:
        """The object as messages name it."""
        return f"{self.where}: {self.kind} {self.key[1]}"

    @property
    def key(self) -> tuple[str, str]:
        """What only one object of the input may have."""
        return self.kind, "/".join(part for part in (self.metadata.namespace, self.metadata.name) if part)


def read(where: str, body: object) -> Found:
    """Return the object. Raises ConversionError when it is not one of Kueue's, or not legal there."""
    if not isinstance(body, dict):
        raise ConversionError(f"{where}: must be an object, is {form(body)}")
    kind, version = body.get("kind"), body.get("apiVersion")
    if version not in VERSIONS and not (version == ALPHA and kind in _OF_ALPHA):
        raise not_one_of(VERSIONS, f"{where}: apiVersion", version)
    if isinstance(kind, str) and kind in UNCONVERTED:
        return Found(where, kind, Named(name=_name_of(body)), None, None)
    if not isinstance(kind, str) or kind not in _MODELS:
        raise not_one_of(_MODELS, f"{where}: kind", kind)
    tidied = _tidy(body)
    model = CohortV1Alpha1 if version == ALPHA else _MODELS[kind][VERSIONS.index(version)]
    try:
        parsed: Any = model.model_validate(tidied, by_alias=True, by_name=False)
    except ValidationError as error:
        lines = _lines(causes(error.errors(include_url=False)), tidied)
        raise ConversionError("\n".join(f"{where}: {kind} {_name_of(body)}: {line}" for line in lines)) from None
    spec = parsed if isinstance(parsed, PriorityClass) else parsed.spec
    return Found(where, kind, parsed.metadata, body.get("metadata"), spec)


def _name_of(body: dict[str, Any]) -> str:
    metadata = body.get("metadata")
    return str(metadata.get("name") or "(no name)") if isinstance(metadata, dict) else "(no name)"


def _tidy(body: dict[str, Any]) -> Any:
    """Without nulls and without operators that are empty, both of which are the default."""
    tidied = without_nulls(body)
    spec = tidied.get("spec")
    if isinstance(spec, dict) and isinstance(spec.get("tolerations"), list):
        spec["tolerations"] = [toleration(one) for one in spec["tolerations"]]
    return tidied


def _lines(errors: Sequence[ErrorDetails], body: object) -> list[str]:
    """A line for each fault; of a value that may have several forms only what is wrong with the first of them."""
    told: dict[tuple[tuple[str | int, ...], int], str] = {}
    for number, one in enumerate(errors):
        place = _place(one["loc"], body)
        told.setdefault((place, -1 if place != one["loc"] else number), fault_line(_path(place), one))
    return list(told.values())


def _place(where: tuple[str | int, ...], value: Any) -> tuple[str | int, ...]:
    """Leave out what stands in no document: which form was tried of a value, and that of an entry the key is meant."""
    place: list[str | int] = []
    for step in where:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int):
            value = value[step]
        elif value is not None:
            break
        place.append(step)
    return tuple(place)


def _path(where: Sequence[str | int]) -> str:
    path = ""
    for step in where:
        path = f"{path}[{step}]" if isinstance(step, int) else member(path, step)
    return path

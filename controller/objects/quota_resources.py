"""The file that says which resources quota counts in one installation. Fields have the names of Kueue's `resources`."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, StrictInt, StrictStr, ValidationError, model_validator

from controller.api.base import Model
from controller.api.parse import causes, fault_line
from controller.api.rules import Fault, fault, refuse
from controller.core.kubernetes.amounts import CPU, MEMORY, PODS, QuantityError
from controller.core.kubernetes.devices import IMPLICIT_PREFIX
from controller.core.kubernetes.names import is_dns_subdomain, is_label_key
from controller.core.kubernetes.quota_resources import QuotaResources, Transformation, output_factor
from controller.kube.fields import member
from controller.kube.manifests import ManifestError, form, parse, read_text

_OF_NODES = (CPU, MEMORY, PODS, "ephemeral-storage")
"""What every node has: an output of such a name would be taken for what the node has to give."""


class QuotaResourcesError(Exception):
    """The file cannot be used. The text is one line a fault: file, path, value, what would be legal."""


def _check_resource(name: str) -> str:
    if not is_label_key(name):
        raise fault("must be the name of a resource, such as example.com/gpu-memory")
    if name == PODS:
        raise fault("is the number of pods, which a quota counts only if it names it")
    return name


def _check_class(name: str) -> str:
    if not is_dns_subdomain(name):
        raise fault("must be the name of a DeviceClass, such as gpu.example.com")
    return name


ClassName = Annotated[StrictStr, AfterValidator(_check_class)]
ResourceName = Annotated[StrictStr, AfterValidator(_check_resource)]
Prefix = Annotated[StrictStr, Field(min_length=1, max_length=317)]


class WrittenTransformation(Model):
    """What pods that request `input` are charged for one unit of it."""

    input: ResourceName
    strategy: Literal["Retain", "Replace"] = "Retain"
    multiply_by: ResourceName | None = None
    outputs: Annotated[dict[ResourceName, StrictStr | StrictInt], Field(default_factory=dict)]

    @model_validator(mode="after")
    def _means_something(self) -> Self:
        faults = list[Fault]()
        if self.strategy == "Retain" and not self.outputs:
            faults.append(Fault(("outputs",), {}, "must name a resource, unless strategy is Replace"))
        if self.multiply_by is not None and not self.outputs:
            faults.append(Fault(("multiplyBy",), self.multiply_by, "needs outputs, which it multiplies"))
        for name, quantity in self.outputs.items():
            if name in _OF_NODES or name.startswith("hugepages-"):
                faults.append(Fault(("outputs", name), quantity, "must be a resource that no node has"))
                continue
            try:
                output_factor(name, quantity, self.input)
            except QuantityError as error:
                faults.append(Fault(("outputs", name), quantity, str(error)))
        refuse(faults)
        return self

    @property
    def meaning(self) -> Transformation:
        """The same for the core."""
        outputs = tuple((name, output_factor(name, text, self.input)) for name, text in sorted(self.outputs.items()))
        return Transformation(self.input, outputs, self.strategy == "Replace", self.multiply_by or "")


class WrittenMapping(Model):
    """By which resource devices of these DeviceClasses are charged."""

    name: ResourceName
    device_class_names: Annotated[tuple[ClassName, ...], Field(min_length=1)]


class WrittenQuotaResources(Model):
    """The whole file."""

    exclude_resource_prefixes: tuple[Prefix, ...] = ()
    transformations: tuple[WrittenTransformation, ...] = ()
    device_class_mappings: tuple[WrittenMapping, ...] = ()

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        faults, inputs = list[Fault](), [one.input for one in self.transformations]
        excluded = self.exclude_resource_prefixes
        for number, one in enumerate(self.transformations):
            where = ("transformations", number)
            if one.input in inputs[:number]:
                faults.append(Fault((*where, "input"), one.input, "has a transformation already; join the two"))
            if one.input.startswith(excluded):
                faults.append(Fault((*where, "input"), one.input, "is left out by excludeResourcePrefixes"))
            for name, quantity in one.outputs.items():
                if name in inputs:
                    message = "must not be an output, since it is the input of a transformation"
                    faults.append(Fault((*where, "outputs", name), quantity, message))
                elif name.startswith(excluded):
                    faults.append(Fault((*where, "outputs", name), quantity, "is left out by excludeResourcePrefixes"))
        refuse([*faults, *self._of_mappings(inputs)])
        return self

    def _of_mappings(self, inputs: Collection[str]) -> Iterator[Fault]:
        seen = set[str]()
        for number, one in enumerate(self.device_class_mappings):
            where = ("deviceClassMappings", number)
            if one.name in inputs or one.name.startswith(self.exclude_resource_prefixes):
                yield Fault((*where, "name"), one.name, "must not be left out, nor be the input of a transformation")
            for index, name in enumerate(one.device_class_names):
                if name in seen:
                    yield Fault((*where, "deviceClassNames", index), name, "has a mapping already; leave one out")
                if IMPLICIT_PREFIX + name in inputs:
                    text = f"must not have a transformation of {IMPLICIT_PREFIX}{name} beside its mapping"
                    yield Fault((*where, "deviceClassNames", index), name, text)
                seen.add(name)

    @property
    def meaning(self) -> QuotaResources:
        """The same for the core."""
        devices = {name: one.name for one in self.device_class_mappings for name in one.device_class_names}
        # what requests devices of a class without a claim is charged as claims of it are
        implicit = (
            Transformation(IMPLICIT_PREFIX + name, ((resource, Fraction(1)),), is_replaced=True)
            for name, resource in devices.items()
            if resource != IMPLICIT_PREFIX + name
        )
        written = (one.meaning for one in self.transformations)
        return QuotaResources(self.exclude_resource_prefixes, (*written, *implicit), devices)


def parsed(document: Any, source: str) -> WrittenQuotaResources:
    """Read what a document says; `source` is where it came from. Raises QuotaResourcesError."""
    if not isinstance(document, dict):
        raise QuotaResourcesError(f"{source}: must be one object, such as transformations: [], is {form(document)}")
    try:
        return WrittenQuotaResources.model_validate(document, by_alias=True, by_name=False)
    except ValidationError as error:
        lines = (fault_line(_path(one["loc"]), one) for one in causes(error.errors(include_url=False)))
        raise QuotaResourcesError("\n".join(f"{source}: {line}" for line in lines)) from None


def read(file: Path) -> QuotaResources:
    """Return what a file says. Raises QuotaResourcesError."""
    try:
        documents = parse(read_text(file), str(file))
    except ManifestError as error:
        raise QuotaResourcesError(str(error)) from None
    if len(documents) != 1:
        raise QuotaResourcesError(f"{file}: must be one object, is {len(documents)} documents")
    return parsed(documents[0], str(file)).meaning


def _path(where: tuple[str | int, ...]) -> str:
    path = ""
    for step in where:
        if step != "[key]":
            path = f"{path}[{step}]" if isinstance(step, int) else member(path, step)
    return path

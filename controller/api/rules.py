"""How the models say what is legal: CEL rules for the apiserver, faults for whoever parses an object.

A rule that CEL can say is written twice, side by side: once as a `Rule`, once in Python, because an object may be
older than the CRD that would refuse it now. Nothing here knows a kind or a field.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import AfterValidator, GetJsonSchemaHandler, ValidationError
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import InitErrorDetails, PydanticCustomError
from pydantic_core.core_schema import CoreSchema


@dataclass(frozen=True, slots=True)
class Rule:
    """One `x-kubernetes-validations` entry; `message` stands in where `expression` cannot be evaluated."""

    cel: str
    message: str
    expression: str | None = None
    field_path: str | None = None

    def render(self) -> dict[str, str]:
        """Return the entry as it stands in a CRD."""
        entry = {"rule": self.cel, "message": self.message}
        if self.expression is not None:
            entry["messageExpression"] = self.expression
        if self.field_path is not None:
            entry["fieldPath"] = self.field_path
        return entry


def rules(*entries: Rule) -> dict[str, Any]:
    """Return the schema keys that carry `entries`."""
    return {"x-kubernetes-validations": [entry.render() for entry in entries]}


class SchemaKeys:
    """Annotation that adds keys, such as CEL rules or list types, to the schema of a value."""

    def __init__(self, **keys: Any) -> None:
        self._keys = {name.replace("_", "-") if name.startswith("x_") else name: value for name, value in keys.items()}

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(core), **self._keys}


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong below the value that is being validated: where, what stands there, what would be legal."""

    where: tuple[str | int, ...]
    value: object
    message: str


def fault(message: str) -> PydanticCustomError:
    """Return the error for the value that is being validated; `message` is shown as it is."""
    return PydanticCustomError("penstock", "{message}", {"message": message})


def refuse(faults: Sequence[Fault]) -> None:
    """Raise all `faults` at once, each with its own path; without any, do nothing."""
    if not faults:
        return
    # pydantic joins the lines of a ValidationError that a validator raises to its own, below the validator's path.
    raise ValidationError.from_exception_data(
        "penstock", [InitErrorDetails(type=fault(f.message), loc=f.where, input=f.value) for f in faults]
    )


class _Named(Protocol):
    @property
    def name(self) -> str: ...


def unique_names(noun: str) -> AfterValidator:
    """Refuse a list that names something twice, as the apiserver does by `x-kubernetes-list-map-keys`."""

    def check(entries: tuple[_Named, ...]) -> tuple[_Named, ...]:
        names = [entry.name for entry in entries]
        refuse(
            [
                Fault((index, "name"), name, f"names a {noun} a second time; name each once")
                for index, name in enumerate(names)
                if name in names[:index]
            ]
        )
        return entries

    return AfterValidator(check)

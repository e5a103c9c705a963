"""The scalar values of a spec: quantities, label keys and values, names; each with its rule for CEL and for Python.

What these values mean when they are compared or added belongs to the core.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field, PlainValidator, StrictStr, WithJsonSchema

from controller.api.rules import Fault, Rule, SchemaKeys, fault, refuse, rules
from controller.core.kubernetes.amounts import QuantityError, parse_quantity
from controller.core.kubernetes.names import (
    DNS_SUBDOMAIN_PATTERN,
    LABEL_NAME_PATTERN,
    LONGEST_SUBDOMAIN,
    is_label_key,
    is_label_value,
)
from controller.core.queueing.shares import SHARE_PATTERN, ShareError, parse_share

QUANTITY_LENGTH = 32
_QUANTITY_PATTERN = r"^[+-]?([0-9]+|[0-9]+\.[0-9]*|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,3})?$"
_QUANTITY_FORM = 'must be a quantity: a whole number, or text such as "500m", "8" or "64Gi"'
_AMOUNT_FORM = 'must be a quantity, such as 8, "500m" or "64Gi", or a share of live capacity, such as "40%"'
_NOT_NEGATIVE = "must not be negative"
_NO_OVERFLOW = "must be less than 2^63"
_SHARE_FORM = 'must be 0% to 100% with at most two decimals, such as "40%" or "12.5%"'

_KEY_PATTERN = f"^({DNS_SUBDOMAIN_PATTERN}/)?{LABEL_NAME_PATTERN}$"
_KEY_LENGTH = 317
_VALUE_PATTERN = f"^({LABEL_NAME_PATTERN})?$"
_NAME_PATTERN = f"^{DNS_SUBDOMAIN_PATTERN}$"

_KEY_FORM = 'an optional DNS prefix and "/", then at most 63 letters, digits, "-", "_" or "."'
LABEL_KEY_MESSAGE = f"must be a label key: {_KEY_FORM}, such as node.kubernetes.io/instance-type"
LABEL_VALUE_MESSAGE = (
    'must be a label value: at most 63 letters, digits, "-", "_" or ".", first and last a letter or digit'
)
RESOURCE_NAME_MESSAGE = f"must be a resource name: {_KEY_FORM}, such as cpu or nvidia.com/gpu"
NAME_MESSAGE = 'must be an object\'s name: lower case letters, digits, "-" or ".", first and last a letter or digit'


def label_key_cel(variable: str) -> str:
    """Return the CEL expression that holds when `variable` is a legal label key, as IsQualifiedName has it."""
    matches = f"{variable}.matches('{_KEY_PATTERN}')".replace("\\", "\\\\")
    return f"{matches} && {variable}.indexOf('/') <= {LONGEST_SUBDOMAIN}"


def _cel_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def keys_rule(message: str) -> Rule:
    """Return the rule that every key of a map is a label key; the message names one that is not."""
    legal = label_key_cel("key")
    one = f"self.filter(key, !({legal}))[0]"
    return Rule(
        f"self.all(key, {legal})", f"every key {message}", f"'\"' + {one} + '\": {_cel_text('the key ' + message)}'"
    )


def _checked(holds: Callable[[str], bool], message: str) -> AfterValidator:
    def check(text: str) -> str:
        if not holds(text):
            raise fault(message)
        return text

    return AfterValidator(check)


def _checked_keys(message: str) -> AfterValidator:
    def check(entries: Mapping[str, Any]) -> Mapping[str, Any]:
        refuse([Fault((key,), key, f"the key {message}") for key in entries if not is_label_key(key)])
        return entries

    return AfterValidator(check)


def _read_quantity(value: Any, form: str = _QUANTITY_FORM) -> str | int:
    """Return `value` as it is written, the form that `core.kubernetes.amounts` counts; `form` says what is legal."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise fault(form)
    try:
        parse_quantity(value)
    except QuantityError as error:
        unusable = _NOT_NEGATIVE if str(value).startswith("-") else _NO_OVERFLOW
        raise fault(_malformed(str(value), form) or unusable) from error
    if isinstance(value, str) and (fault_text := _malformed(value, form)):
        raise fault(fault_text)
    return value


def _malformed(text: str, form: str) -> str | None:
    if len(text) > QUANTITY_LENGTH:
        return f"must be at most {QUANTITY_LENGTH} characters"
    return None if re.fullmatch(_QUANTITY_PATTERN, text) else form


# The pattern refuses malformed text in words of regular expressions, so the first rule says it for people. The others
# pass what is malformed: quantity() of it would end them with an error of its own.
_IS_NOT_NEGATIVE = "type(self) == int ? self >= 0 : (!isQuantity(self) || quantity(self).compareTo(quantity('0')) >= 0)"
# Kubernetes caps what does not fit at 2^63-1, so only the exact text of that number may reach it.
_DOES_NOT_OVERFLOW = (
    "type(self) == int || !isQuantity(self) || self == '9223372036854775807'"
    " || quantity(self).isLessThan(quantity('9223372036854775807'))"
)


def _quantity_schema(pattern: str, *forms: Rule) -> dict[str, Any]:
    return {
        "x-kubernetes-int-or-string": True,
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "maxLength": QUANTITY_LENGTH,
        "pattern": pattern,
        **rules(*forms, Rule(_IS_NOT_NEGATIVE, _NOT_NEGATIVE), Rule(_DOES_NOT_OVERFLOW, _NO_OVERFLOW)),
    }


def _read_amount(value: Any) -> str | int:
    """Return `value` as it is written: a share where it ends with a per cent sign, else a quantity."""
    if not is_share(value):
        return _read_quantity(value, _AMOUNT_FORM)
    try:
        parse_share(value)
    except ShareError as error:
        raise fault(_SHARE_FORM) from error
    return str(value)


def is_share(value: Any) -> bool:
    """Say whether an amount is written as a percentage."""
    return isinstance(value, str) and value.endswith("%")


_QUANTITY_SCHEMA = _quantity_schema(_QUANTITY_PATTERN, Rule("type(self) == int || isQuantity(self)", _QUANTITY_FORM))
_SHARE_CEL = SHARE_PATTERN.replace("\\", "\\\\")
_AMOUNT_SCHEMA = _quantity_schema(
    f"{_QUANTITY_PATTERN}|^[^%]*%$",
    Rule("type(self) == int || self.endsWith('%') || isQuantity(self)", _AMOUNT_FORM),
    Rule(f"type(self) == int || !self.endsWith('%') || self.matches('^{_SHARE_CEL}$')", _SHARE_FORM),
)

Quantity = Annotated[str | int, PlainValidator(_read_quantity), WithJsonSchema(_QUANTITY_SCHEMA)]
QuotaAmount = Annotated[str | int, PlainValidator(_read_amount), WithJsonSchema(_AMOUNT_SCHEMA)]
"""A quantity, or a share of what the flavor has."""

LabelKey = Annotated[
    StrictStr,
    _checked(is_label_key, LABEL_KEY_MESSAGE),
    SchemaKeys(maxLength=_KEY_LENGTH, **rules(Rule(label_key_cel("self"), LABEL_KEY_MESSAGE))),
]
LabelValue = Annotated[
    StrictStr,
    _checked(is_label_value, LABEL_VALUE_MESSAGE),
    SchemaKeys(maxLength=63, **rules(Rule(f"self.matches('{_VALUE_PATTERN}')", LABEL_VALUE_MESSAGE))),
]
ResourceName = Annotated[
    StrictStr,
    _checked(is_label_key, RESOURCE_NAME_MESSAGE),
    SchemaKeys(maxLength=_KEY_LENGTH, minLength=1, **rules(Rule(label_key_cel("self"), RESOURCE_NAME_MESSAGE))),
]
ObjectName = Annotated[
    StrictStr,
    Field(min_length=1, max_length=63),
    _checked(lambda text: re.fullmatch(_NAME_PATTERN, text) is not None, NAME_MESSAGE),
    SchemaKeys(pattern=_NAME_PATTERN),
]
Subdomain = Annotated[
    StrictStr,
    Field(min_length=1, max_length=253),
    _checked(lambda text: re.fullmatch(_NAME_PATTERN, text) is not None, NAME_MESSAGE),
    SchemaKeys(pattern=_NAME_PATTERN),
]
Labels = Annotated[
    dict[str, LabelValue],
    Field(max_length=32),
    _checked_keys(LABEL_KEY_MESSAGE),
    SchemaKeys(**rules(keys_rule(LABEL_KEY_MESSAGE))),
]
_ATOMIC = SchemaKeys(x_kubernetes_list_type="atomic")
_CHOICES_LIMIT = 64
LabelChoices = Annotated[
    dict[str, Annotated[tuple[LabelValue, ...], Field(max_length=_CHOICES_LIMIT), _ATOMIC]],
    Field(max_length=32),
    _checked_keys(LABEL_KEY_MESSAGE),
    SchemaKeys(**rules(keys_rule(LABEL_KEY_MESSAGE))),
]
"""Values by label key; an empty list stands for every value."""
GivenLabels = Annotated[
    dict[str, LabelValue],
    Field(min_length=1, max_length=32),
    _checked_keys(LABEL_KEY_MESSAGE),
    SchemaKeys(**rules(keys_rule(LABEL_KEY_MESSAGE))),
]
"""Labels, at least one."""
RequiredLabelChoices = Annotated[
    dict[str, Annotated[tuple[LabelValue, ...], Field(min_length=1, max_length=_CHOICES_LIMIT), _ATOMIC]],
    Field(min_length=1, max_length=32),
    _checked_keys(LABEL_KEY_MESSAGE),
    SchemaKeys(**rules(keys_rule(LABEL_KEY_MESSAGE))),
]
Resources = Annotated[
    dict[str, Quantity],
    Field(min_length=1, max_length=64),
    _checked_keys(RESOURCE_NAME_MESSAGE),
    SchemaKeys(**rules(keys_rule(RESOURCE_NAME_MESSAGE))),
]
# The longest: three flavors with three resources each, whose names are as long as names can be.
REPORTED_TEXT = 4096

# Written by Penstock, in the form that it chose; read back by people only.
ReportedQuantity = Annotated[StrictStr, Field(max_length=QUANTITY_LENGTH)]
ReportedText = Annotated[StrictStr, Field(max_length=REPORTED_TEXT)]
ReportedResources = Annotated[dict[str, ReportedQuantity], Field(max_length=64)]

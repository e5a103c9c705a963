"""LimitRanges as the apiserver writes them, as far as they fill in what containers do not say."""

from __future__ import annotations

from msgspec import Struct, field

from controller.kube.wire import Owned


class LimitRangeItem(Struct, rename="camel"):
    """core/v1 LimitRangeItem, as far as it fills in what is missing."""

    type: str = ""
    default: dict[str, str | int] | None = None
    default_request: dict[str, str | int] | None = None


class LimitRangeSpec(Struct):
    """core/v1 LimitRangeSpec."""

    limits: list[LimitRangeItem] = field(default_factory=list)


class LimitRangeObject(Struct):
    """core/v1 LimitRange."""

    metadata: Owned
    spec: LimitRangeSpec = field(default_factory=LimitRangeSpec)

"""How clients read answers of this API: paths, rows in `status`, and which 404 says that it is not served."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from controller.extension_api.paths import UNKNOWN_RESOURCE
from controller.kube.errors import NotFound

R = TypeVar("R")


class Member(msgspec.Struct, Generic[R]):
    """An object whose `status` is a row."""

    status: R


class ListMetadata(msgspec.Struct):
    """Where the next page goes on; empty: there is none."""

    end: str = msgspec.field(default="", name="continue")


class Listed(msgspec.Struct, Generic[R]):
    """A page of such objects."""

    items: list[Member[R]]
    metadata: ListMetadata = msgspec.field(default_factory=ListMetadata)


def within(namespace: str | None, plural: str, *parts: str) -> str:
    """Return the path of a resource, or of what is below it; `namespace` None: of all, or it has none."""
    prefix = "" if namespace is None else f"/namespaces/{namespace}"
    return f"{prefix}/{'/'.join((plural, *parts))}"


def is_of_no_object(error: NotFound) -> bool:
    """Whether the resource is unknown, to the apiserver (which writes no Status then) or to the API itself."""
    return not error.reason or error.message.startswith(UNKNOWN_RESOURCE)

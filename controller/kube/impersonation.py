"""Whom a kubeconfig says to act as: `as`, `as-groups`, `as-uid` and `as-user-extra` of the context's user.

kubernetes-asyncio does not read them. Whoever wrote them wants fewer rights than the credentials have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from controller.kube.connection import ActingAs
from controller.kube.errors import ConfigError

_FIELDS: Final = ("as", "as-groups", "as-uid", "as-user-extra")


def read_acting_as(joined: str, contents: Sequence[Mapping[str, Any]], context: str | None) -> ActingAs | None:
    """Return whom the user of a context, None for the current one, acts as; None: nobody but itself.

    `contents` are those of the files `joined`, of which the first that has an entry counts. Raises ConfigError.
    """
    named = context or next((found for one in contents if (found := one.get("current-context"))), None)
    chosen = _entry(contents, "contexts", named).get("context") or {}
    name = chosen.get("user")
    user = _entry(contents, "users", name).get("user") or {}
    said = {field: user[field] for field in _FIELDS if user.get(field)}
    if not said:
        return None
    where = f"kubeconfig {joined}: users: {name}"
    if "as" not in said:
        raise ConfigError(f"{where}: has {', '.join(said)} and no as: Kubernetes takes these only along with a user")
    extra = said.get("as-user-extra", {})
    is_read = (
        isinstance(said["as"], str)
        and isinstance(said.get("as-uid", ""), str)
        and _are_texts(said.get("as-groups", []))
        and isinstance(extra, dict)
        and all(isinstance(key, str) and _are_texts(values) for key, values in extra.items())
    )
    if not is_read:
        raise ConfigError(
            f"{where}: cannot be acted as: as and as-uid are texts, as-groups is a list of texts, and as-user-extra "
            "has lists of texts by key"
        )
    pairs = tuple((key.lower(), value) for key, values in extra.items() for value in values)
    return ActingAs(said["as"], tuple(said.get("as-groups", ())), said.get("as-uid", ""), pairs)


def _entry(contents: Sequence[Mapping[str, Any]], part: str, name: object) -> Mapping[str, Any]:
    every = (entry for one in contents for entry in one.get(part) or ())
    return next((entry for entry in every if entry.get("name") == name), {})


def _are_texts(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(one, str) for one in values)

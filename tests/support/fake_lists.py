"""A stand-in for `controller.kube.client.Client` that lists by path, and writes down what it was asked.

It knows nothing of Kubernetes: that an apiserver answers so is proved by the integration tests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import orjson

from controller.kube.client import Client
from controller.kube.errors import NotFound

Answers = Mapping[str, bytes | Exception]
_NONE: Final[Answers] = {}


class FakeLists:
    """Objects by the path of their collection, and other answers by theirs; what is not there is NotFound."""

    def __init__(self, objects: Mapping[str, Sequence[Mapping[str, Any]]], answers: Answers = _NONE) -> None:
        lists = {path: orjson.dumps({"metadata": {}, "items": those}) for path, those in objects.items()}
        self._answers: dict[str, bytes | Exception] = {**lists, **answers}
        self.asked: list[tuple[str, dict[str, str]]] = []

    @property
    def as_client(self) -> Client:
        return cast("Client", self)

    async def get(self, path: str, params: Mapping[str, str] | None = None, **_: Any) -> bytes:
        self.asked.append((path, dict(params or {})))
        answer = self._answers.get(path, NotFound(404, "NotFound", "no"))
        if isinstance(answer, Exception):
            raise answer
        return answer

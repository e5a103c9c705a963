"""A stand-in for `controller.kube.client.Client` that lists kinds once, of which nothing changes then.

It knows nothing of Kubernetes: that an apiserver answers so is proved by the integration tests.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from controller.kube.errors import Invalid, NotFound
from tests.support.fake_client import FakeClient
from tests.support.pod_documents import raw


class FakeKinds(FakeClient):
    """Lists objects by the path of their collection, and nothing at other paths. Its watches are silent.

    `asked` are the paths that were listed, in order. A path in `held` answers once its event is set.
    """

    def __init__(self, lists: Mapping[str, Sequence[Any]] | None = None) -> None:
        super().__init__()
        self.lists = dict(lists or {})
        self.asked: list[str] = []
        self.held: dict[str, asyncio.Event] = {}

    async def get(self, path: str, params: Mapping[str, str] | None = None, **_: Any) -> bytes:
        if params is None:
            raise NotFound(404, "NotFound", path)
        self.asked.append(path)
        if path in self.held:
            await self.held[path].wait()
        return raw({"metadata": {"resourceVersion": "10"}, "items": self.lists.get(path, [])})

    @asynccontextmanager
    async def stream(self, _: str, params: Mapping[str, str], **__: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        if "sendInitialEvents" in params:
            raise Invalid(422, "Invalid", "sendInitialEvents is forbidden for watch")
        yield self._nothing()

    async def _nothing(self) -> AsyncIterator[bytes]:
        await asyncio.Event().wait()
        yield b""

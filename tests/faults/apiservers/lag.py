"""How far an apiserver lags behind: what its watch cache has, beside what is in etcd."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from controller.kube.client import Client
from controller.kube.errors import TooManyRequests
from tests.support.eventually import eventually

_FROM_CACHE = {"resourceVersion": "0"}


async def versions(client: Client, path: str, params: dict[str, str] | None = None) -> dict[str, int]:
    """The versions of objects by name: as etcd has them, unless the parameters ask for others."""
    items: list[dict[str, Any]] = orjson.loads(await client.get(path, params))["items"]
    return {one["metadata"]["name"]: int(one["metadata"]["resourceVersion"]) for one in items}


@dataclass(frozen=True, slots=True)
class Lag:
    """Of the second apiserver, for the collection at `path` in one namespace. `client` asks the other apiserver."""

    client: Client
    at_second: Client
    path: str

    async def missed(self) -> set[str]:
        """Names of objects that the watch cache of the second apiserver does not have as they are."""
        in_etcd = await versions(self.client, self.path)
        in_cache = await versions(self.at_second, self.path, _FROM_CACHE)
        return {name for name, version in in_etcd.items() if in_cache.get(name, 0) < version}

    async def until_behind(self, objects: int) -> None:
        """Wait until it does not have so many of them."""

        async def is_behind() -> bool:
            return len(await self.missed()) >= objects

        await eventually(is_behind, message="the second apiserver does not lag behind")

    async def until_caught_up(self) -> None:
        """Wait until it has all of them."""

        async def has_caught_up() -> bool:
            try:
                return not await self.missed()
            except TooManyRequests:  # its cache of a custom kind is made when it is first asked for
                return False

        await eventually(has_caught_up, message="the second apiserver does not catch up")

"""Versions of pods that say nothing any more: the apiserver's history starts anew, as after a restore of etcd."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from controller.cache.cluster import ClusterCache
from controller.cache.parts import in_parts


def forget_versions(cache: ClusterCache) -> Iterator[None]:
    """Let any state of a pod count as newer than the one known. In parts."""

    def forget(uid: str) -> None:
        if uid in cache.pods:
            cache.pods[uid] = replace(cache.pods[uid], resource_version="")

    yield from in_parts(map(forget, list(cache.pods)))
    cache.usage.candidates.forget_all()

"""What the status of a ClusterQueue says of the places that are kept for members of gangs that are made anew."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from controller.cache.cluster import ClusterCache
from controller.kube.clock import rfc3339
from controller.runtime.status import Finding


def places_kept(cache: ClusterCache, name: str) -> Iterator[Finding]:
    """Tell of those of a ClusterQueue and those below it; nothing where none is kept."""
    below = set(cache.tree.below(name))
    until = [one.until for one in cache.gangs.lost.places() if one.pod.cluster_queue in below]
    if until:
        last = rfc3339(ceil(max(until)))
        count = f"{len(until)} place{'s' * (len(until) > 1)} of gang members"
        text = f"{count} kept until others are made in their place, at most until {last}"
        yield ("PlacesKept", True, "MadeAnew", text)

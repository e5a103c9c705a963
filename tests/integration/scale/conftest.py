"""A control plane of its own, with the gate kept by the apiserver: many pods, and their audit log to be read whole."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.support.clusters import Cluster, a_cluster

PODS = "PENSTOCK_SCALE_PODS"
"""Environment variable: how many pods instead of `_PODS`."""
_PODS = 1_000


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    """The cluster of this folder."""
    with a_cluster() as cluster:
        yield cluster


@pytest.fixture
def count() -> int:
    """How many pods."""
    return int(os.environ.get(PODS, _PODS))

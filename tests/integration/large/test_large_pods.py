"""Pods of more than a megabyte each, which any user can make: a list of them does not have to fit into memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.clusters import Cluster

pytestmark = [pytest.mark.integration, pytest.mark.more, pytest.mark.timeout(600)]

MOST_MIB = 300


def most_memory(pid: int) -> int:
    """The most that a process has had in memory, in MiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) >> 10


def test_a_list_of_400_large_pods_takes_less_than_300_mib(cluster: Cluster) -> None:
    """The controller is ready, so it has listed them."""
    assert most_memory(cluster.programs.controller.process.pid) < MOST_MIB

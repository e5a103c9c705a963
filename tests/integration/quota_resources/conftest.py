"""Penstock as it runs, with a file of --quota-resources: one control plane for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.clusters import Cluster, a_cluster

FILE = """
excludeResourcePrefixes: [mem]
transformations:
  - {input: cpu, strategy: Replace, outputs: {example.com/credits: 2}}
"""


@pytest.fixture(scope="package")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Which resources quota counts here."""
    made = tmp_path_factory.mktemp("resources") / "resources.yaml"
    made.write_text(FILE)
    return made


@pytest.fixture(scope="package")
def cluster(file: Path) -> Iterator[Cluster]:
    """A control plane whose controller reads the file, and whose standby becomes the leader."""
    with a_cluster(components=["visibility"], controller_arguments=[f"--quota-resources={file}"]) as cluster:
        yield cluster

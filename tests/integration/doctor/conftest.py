"""Penstock on a control plane that the tests break, one thing at a time, and put right again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from controller.cli.doctor_checks import every
from controller.cli.doctor_checks.cluster import Cluster as Examined
from controller.cli.doctor_checks.findings import Check
from controller.kube.client import Client
from tests.support.clusters import Cluster, a_cluster


class Doctor:
    """Runs single checks as `penstock doctor` does."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.home = "penstock-system"

    @property
    def examined(self) -> Examined:
        """The cluster as it is examined."""
        return Examined(self.client, self.home, "default")

    async def finds(self, check: Check, *, severity: str = "Error") -> dict[str, str]:
        """What a check finds of this severity: what by where."""
        (result,) = await every.examine(self.examined, (check,))
        return {one.where: one.what for one in result.findings if one.severity == severity}


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    """The cluster of this folder, whose gate the webhook keeps."""
    with a_cluster() as cluster:
        yield cluster


@pytest.fixture
def doctor(client: Client) -> Doctor:
    """A doctor with all rights."""
    return Doctor(client)

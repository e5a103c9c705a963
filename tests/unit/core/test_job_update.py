"""What may be changed on a Job at the edges of each rule; `tests/differential` asks Kubernetes the same."""

from __future__ import annotations

import pytest

from tests.differential.agreement import our_verdict
from tests.differential.job_vectors import VERSIONS, known, vectors


@pytest.mark.parametrize("minor", VERSIONS)
def test_each_verdict_is_what_kubernetes_said(minor: int) -> None:
    said = known()[minor]
    assert {name: our_verdict(old, new, minor=minor) for name, (old, new) in vectors().items()} == said
    assert len(set(said.values())) > 30

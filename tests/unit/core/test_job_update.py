"""What may be changed on a Job at the edges of each rule; `tests/differential` asks Kubernetes the same."""

from __future__ import annotations

import pytest

from controller.core.job_update import may_change
from controller.core.pod_update.violation import Rule
from tests.differential.agreement import our_verdict
from tests.differential.job_vectors import VERSIONS, known, laid, vectors
from tests.support.job_documents import a_job_document


@pytest.mark.parametrize("minor", VERSIONS)
def test_each_verdict_is_what_kubernetes_said(minor: int) -> None:
    said = known()[minor]
    assert {name: our_verdict(old, new, minor=minor) for name, (old, new) in vectors().items()} == said
    assert len(set(said.values())) > 30


@pytest.mark.parametrize("name", ["managedBy is new", "3 completions with 3 at a time", "3 indexes with 2 at a time"])
def test_what_has_to_stay_is_told_as_that(name: str) -> None:
    (violation,) = may_change(*vectors()[name])
    assert violation.rule is Rule.SPEC_STAYS


def test_of_many_fields_that_would_change_four_are_named() -> None:
    before = a_job_document()
    fields = ("hostIPC", "hostNetwork", "hostPID", "setHostnameAsFQDN", "shareProcessNamespace")
    for count, told in ((4, "setHostnameAsFQDN would change"), (5, "setHostnameAsFQDN and 1 more would change")):
        after = laid(before, {f"spec.template.spec.{field}": True for field in fields[:count]})
        (violation,) = [one for one in may_change(before, after) if one.path == "spec.template.spec"]
        assert violation.rule is Rule.SPEC_STAYS
        assert told in violation.text

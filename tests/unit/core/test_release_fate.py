"""What a state of a pod says of a release patch that was sent, and what revokes that patch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.core.gate.release_fate import Fate, Stamps, fate, revocation
from controller.core.keys import RELEASE_ATTEMPT, REVOKED_BY
from controller.core.workloads.pods import Pod
from tests.support.builders import a_pod
from tests.support.json_patch import PatchFailed, patched

STAMPS = Stamps(cluster_queue="team-a", flavors=("spot",), admitted_at=100.0, admitted_by="me")
SENT = a_pod("a", generation=3, resource_version="7", has_annotations=True)
RELEASED = replace(
    SENT, gates=(), generation=4, cluster_queue="team-a", flavor="spot", admitted_at=100.0, admitted_by="me"
)


@pytest.mark.parametrize(
    ("now", "what"),
    [
        (SENT, Fate.OPEN),
        (replace(SENT, resource_version="9"), Fate.OPEN),
        (replace(SENT, has_annotations=False), Fate.OPEN),
        (replace(SENT, queue=None), Fate.OPEN),
        (replace(SENT, is_terminating=True), Fate.OPEN),
        (replace(SENT, generation=4), Fate.IMPOSSIBLE),
        (replace(SENT, generation=2), Fate.OPEN),
        (replace(SENT, uid="another"), Fate.IMPOSSIBLE),
        (replace(SENT, release_attempt="1"), Fate.IMPOSSIBLE),
        (replace(SENT, release_attempt="odd"), Fate.OPEN),
        (replace(SENT, gates=()), Fate.IMPOSSIBLE),
        (RELEASED, Fate.RELEASED),
        (replace(RELEASED, release_attempt="1"), Fate.RELEASED),
        (replace(RELEASED, admitted_at=101.0), Fate.IMPOSSIBLE),
        (replace(RELEASED, admitted_by="you"), Fate.IMPOSSIBLE),
        (replace(RELEASED, flavor="steady"), Fate.IMPOSSIBLE),
        (replace(RELEASED, cluster_queue="team-b"), Fate.IMPOSSIBLE),
        (replace(RELEASED, uid="another"), Fate.IMPOSSIBLE),
    ],
)
def test_what_a_state_says(now: Pod, what: Fate) -> None:
    assert fate(SENT, STAMPS, now) is what


@pytest.mark.parametrize(("version", "what"), [("7", Fate.OPEN), ("6", Fate.OPEN), ("8", Fate.IMPOSSIBLE)])
def test_without_generations_a_newer_version_says_it(version: str, what: Fate) -> None:
    sent = replace(SENT, generation=0)
    assert fate(sent, STAMPS, replace(sent, resource_version=version)) is what


def test_several_flavors_are_known_by_all_of_them() -> None:
    stamps = replace(STAMPS, flavors=("spot", "steady"))
    both = replace(RELEASED, flavors=("spot", "steady"))
    assert fate(SENT, stamps, both) is Fate.RELEASED
    assert fate(SENT, stamps, replace(both, flavors=("steady", "spot"))) is Fate.IMPOSSIBLE
    assert fate(SENT, stamps, RELEASED) is Fate.IMPOSSIBLE


def a_document(notes: dict[str, str] | None) -> dict[str, Any]:
    return {"metadata": {"uid": SENT.uid, **({} if notes is None else {"annotations": notes})}}


@pytest.mark.parametrize("before", [None, {}, {"by": "jane"}, {RELEASE_ATTEMPT: "41"}, {RELEASE_ATTEMPT: "odd"}])
def test_a_revocation_writes_the_next_number(before: dict[str, str] | None) -> None:
    now = replace(SENT, has_annotations=before is not None, release_attempt=(before or {}).get(RELEASE_ATTEMPT))
    operations = revocation(SENT, now, by="me")
    after = patched(a_document(before), operations)
    number = "42" if (before or {}).get(RELEASE_ATTEMPT) == "41" else "1"
    assert after["metadata"]["annotations"] == {**(before or {}), RELEASE_ATTEMPT: number, REVOKED_BY: "me"}
    with pytest.raises(PatchFailed):
        patched(after, operations)
    assert fate(SENT, STAMPS, replace(now, release_attempt=number)) is Fate.IMPOSSIBLE

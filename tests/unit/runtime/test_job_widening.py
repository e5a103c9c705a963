"""What is sent for an admitted Job that is to get more pods, and what is believed of the answers."""

from __future__ import annotations

import pytest

from controller.cache.sinks import JobSink
from controller.core.gate.job_growth import widening_patch
from controller.core.keys import CLUSTER_QUEUE, RELEASE_ATTEMPT, REVOKED_BY, WANTED_PARALLELISM
from controller.kube.errors import Forbidden, Invalid, NotFound, ServerError
from tests.support.builders import a_flavor, decided
from tests.support.job_documents import Json, a_job_document, a_released_job, edited, pods_of, state_of
from tests.support.json_patch import patched
from tests.support.pod_documents import raw
from tests.support.releasing import Rig, patch_answered

pytestmark = pytest.mark.usefixtures("time")

PATH = "/apis/batch/v1/namespaces/default/jobs/a"
MORE = "a/more"


def noted(job: Json, wanted: str | None, **notes: str) -> Json:
    """The Job with another wish and other annotations, and the version that the apiserver gives it by that."""
    changed = edited(job)
    changed["metadata"]["generation"] -= 1
    changed["metadata"]["annotations"].update(notes)
    if wanted is None:
        del changed["metadata"]["annotations"][WANTED_PARALLELISM]
    else:
        changed["metadata"]["annotations"][WANTED_PARALLELISM] = wanted
    return changed


JOB = noted(a_released_job(a_job_document("a", spec={"parallelism": 2, "completions": 50}), [a_flavor()]), "5")
WIDER = edited(patched(JOB, widening_patch(pods_of(JOB), 3, by="leader")))


def state(rig: Rig) -> str:
    """How the pods stand that are wanted in addition."""
    workload = rig.cache.backlog.get(MORE)
    if workload is not None:
        return "waiting" if workload.kind.hold is None else workload.kind.hold.reason.value
    return "assumed" if rig.cache.assumed(MORE) is not None else "over"


async def test_more_pods_are_one_patch_of_the_job() -> None:
    rig = Rig(patch_answered(raw(WIDER)), JOB)
    assert (rig.charged, state(rig)) == (5000, "assumed")
    await rig.carry_out()
    (call,) = rig.client.calls
    assert (call.method, call.path) == ("PATCH", PATH)
    assert patched(JOB, call.body)["spec"]["parallelism"] == 5
    assert (rig.charged, state(rig), rig.results) == (5000, "over", {"released": 1})
    (released,) = rig.released
    assert released.is_widening


async def test_a_job_that_got_more_did_not_wait_to_be_admitted() -> None:
    rig = await Rig(patch_answered(raw(WIDER)), JOB).carry_out()
    admitted = [one.value for metric in rig.metrics.admitted.collect() for one in metric.samples]
    assert not any(admitted)


async def test_without_an_answer_all_is_charged_until_it_is_revoked() -> None:
    revoked = noted(JOB, "5", **{RELEASE_ATTEMPT: "1", REVOKED_BY: "leader"})
    client = patch_answered(ServerError(503, "", "away"), raw(revoked))
    rig = await Rig(client, JOB).carry_out()
    _, second = client.made("PATCH")
    assert {one["value"] for one in second.body if one["op"] == "add"} == {"1", "leader"}
    assert (rig.charged, state(rig)) == (2000, "PatchRejected")


async def test_an_answer_that_was_lost_counts() -> None:
    client = patch_answered(ServerError(503, "", "away"), raw(WIDER))
    rig = await Rig(client, JOB).carry_out()
    assert (rig.charged, state(rig), len(rig.released)) == (5000, "over", 1)


async def test_a_wish_that_is_gone_is_charged_until_it_is_revoked() -> None:
    revoked = noted(JOB, None, **{RELEASE_ATTEMPT: "1", REVOKED_BY: "leader"})
    client = patch_answered(ServerError(503, "", "away"), raw(revoked))
    rig = await Rig(client, JOB).carry_out()
    assert (rig.charged, state(rig)) == (2000, "over")


async def test_a_patch_that_is_undone_says_so() -> None:
    rig = await Rig(patch_answered(raw(noted(JOB, "5"))), JOB).carry_out()
    assert (rig.charged, state(rig)) == (2000, "PatchRejected")
    workload = rig.cache.backlog.get(MORE)
    assert workload is not None
    assert workload.kind.hold is not None
    assert "spec.parallelism" in workload.kind.hold.text


async def test_a_refusal_is_told_and_tried_again() -> None:
    rig = await Rig(patch_answered(Forbidden(403, "Forbidden", "quota of pods")), JOB).carry_out()
    assert (rig.charged, state(rig)) == (2000, "PatchRejected")


@pytest.mark.parametrize(
    ("now", "charged", "left"),
    [
        (noted(JOB, "4"), 2000, "waiting"),
        (noted(JOB, None), 2000, "over"),
        (edited(JOB, suspend=True), 0, "over"),
        (edited(JOB, parallelism=7), 7000, "over"),
    ],
    ids=["less is wanted", "no more is wanted", "it is suspended", "it grew"],
)
async def test_a_job_that_changed_is_decided_on_again(now: Json, charged: int, left: str) -> None:
    client = patch_answered(Invalid(422, "Invalid", "a test failed")).will("GET", raw(now))
    rig = await Rig(client, JOB).carry_out()
    assert (rig.charged, state(rig), rig.results) == (charged, left, {"conflict": 1})


async def test_a_job_that_is_gone_is_charged_with_nothing() -> None:
    rig = await Rig(patch_answered(NotFound(404, "NotFound", "gone")), JOB).carry_out()
    assert (rig.charged, rig.cache.pods, state(rig)) == (0, {}, "over")


async def test_what_waits_anew_is_not_sent_uncharged() -> None:
    rig = Rig(patch_answered(raw(WIDER)), JOB)
    rig.cache.settle(MORE)
    await rig.carry_out()
    assert not rig.client.calls


async def test_more_pods_are_charged_where_the_job_is() -> None:
    elsewhere = noted(JOB, "5")
    elsewhere["metadata"]["labels"][CLUSTER_QUEUE] = "another"
    rig = await Rig(patch_answered(raw(WIDER)), elsewhere).carry_out()
    assert not rig.client.calls
    assert state(rig) == "PatchRejected"
    workload = rig.cache.backlog.get(MORE)
    assert workload is not None
    assert workload.kind.hold is not None
    assert workload.kind.hold.text == (
        "the Job was admitted by ClusterQueue another onto flavor spot, and more of its pods would be admitted by "
        "team-a onto flavor spot; set spec.suspend to true to have it admitted anew"
    )


async def test_a_late_refusal_leaves_the_next_patch_charged() -> None:
    edit = edited(JOB, backoffLimit=3)
    client = patch_answered(Invalid(422, "Invalid", "a test failed")).will("GET", raw(edit))
    rig = Rig(client, JOB)
    (first,) = rig.admits
    JobSink(rig.cache).upsert(state_of(edit))
    assert rig.charged == 2000
    (second,) = decided(rig.cache).admits
    await rig.carry_out(first)
    assert rig.cache.assumed(MORE) is second
    assert (rig.charged, rig.client.calls) == (5000, [])

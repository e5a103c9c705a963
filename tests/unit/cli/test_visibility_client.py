"""The client of the visibility API: when it tries again, and what it takes for an API that is not served.

What an apiserver answers in each of these cases is shown by tests/integration/visible_queues.
"""

from __future__ import annotations

import pytest
from rich.console import Console

from controller.cli.refusals import told
from controller.cli.visibility_client import NotAnswering, NotServed, VisibilityClient
from controller.extension_api.paths import ROOT, read_path
from controller.extension_api.resources import Registry
from controller.extension_api.statuses import Refused
from controller.kube.errors import Forbidden, NotFound, ServerError, UnreadableObject
from controller.visibility.rows import LocalQueueRow
from tests.support.fake_client import FakeClient, Outcome
from tests.support.fake_time import FakeTime

ABSENT = NotFound(404, "", "404 page not found")
REFUSED = 'User "j" cannot list resource "localqueues" in API group "visibility.penstock.dev" '
FORBIDDEN = Forbidden(403, "Forbidden", f'{REFUSED}in the namespace "team-a"')
EVERYWHERE = Forbidden(403, "Forbidden", f"{REFUSED}at the cluster scope")


def busy(seconds: float = 1.0) -> ServerError:
    return ServerError(503, "ServiceUnavailable", "only the leader answers", retry_after_seconds=seconds)


def unknown_to_the_api() -> NotFound:
    """What an older Penstock answers that has no such resource."""
    with pytest.raises(Refused) as caught:
        read_path(f"{ROOT}/localqueues", Registry(()))
    return NotFound(404, "NotFound", caught.value.message)


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    return FakeTime().install(monkeypatch)


def asking(*outcomes: Outcome) -> tuple[FakeClient, VisibilityClient]:
    fake = FakeClient().will("GET", *outcomes)
    return fake, VisibilityClient(fake.as_client, Console(quiet=True).status(""))


async def test_it_is_tried_again_while_nobody_answers(time: FakeTime) -> None:
    fake, client = asking(busy(), busy(3.0), ServerError(503, "", "service unavailable"), b'{"items":[]}')
    assert await client.rows("localqueues", LocalQueueRow, "team-a") == []
    assert [call.path for call in fake.calls] == [f"{ROOT}/namespaces/team-a/localqueues"] * 4
    assert time.slept == [1.0, 3.0, 1.0]


async def test_after_ten_seconds_it_is_told_what_to_do(time: FakeTime) -> None:
    _, client = asking(*(busy() for _ in range(11)))
    with pytest.raises(NotAnswering) as caught:
        await client.get("/localqueues")
    assert sum(time.slept) == 10.0
    text = told(caught.value)
    for part in ("only the leader answers", "kubectl get apiservice v1alpha1.visibility.penstock.dev", "--without-api"):
        assert part in text


async def test_other_failures_are_not_tried_again(time: FakeTime) -> None:
    _, client = asking(ServerError(504, "Timeout", "no answer within 60 s"))
    with pytest.raises(ServerError, match="504 Timeout"):
        await client.get("/localqueues")
    assert time.slept == []


@pytest.mark.parametrize("outcomes", [[ABSENT], [unknown_to_the_api()], [FORBIDDEN, ABSENT]])
async def test_an_api_that_is_not_served_is_no_fault(outcomes: list[Outcome]) -> None:
    fake, client = asking(*outcomes)
    with pytest.raises(NotServed):
        await client.get("/localqueues")
    assert [call.path for call in fake.calls[1:]] == [ROOT] * (len(outcomes) - 1)


async def test_an_object_that_is_absent_is_told_as_such() -> None:
    _, client = asking(NotFound(404, "NotFound", 'localqueues "x" not found'))
    with pytest.raises(NotFound):
        await client.get("/namespaces/team-a/localqueues/x")


@pytest.mark.parametrize(
    ("error", "role"),
    [
        (FORBIDDEN, "ask for the ClusterRole view in namespace team-a"),
        (EVERYWHERE, "ask for the ClusterRole penstock-visibility-viewer in the whole cluster"),
    ],
)
async def test_who_is_refused_learns_which_role_to_ask_for(error: Forbidden, role: str) -> None:
    _, client = asking(error, b"{}")
    with pytest.raises(Forbidden) as caught:
        await client.get("/localqueues")
    assert told(caught.value).endswith(role)


async def test_an_answer_of_another_version_is_one_line() -> None:
    _, client = asking(b'{"items":[{"status":{"namespace":"a"}}]}')
    with pytest.raises(UnreadableObject, match="of another version"):
        await client.rows("localqueues", LocalQueueRow, None)


async def test_a_post_is_tried_again_as_well(time: FakeTime) -> None:
    fake = FakeClient().will("POST", busy(), b"{}")
    client = VisibilityClient(fake.as_client, Console(quiet=True).status(""))
    assert await client.post("/namespaces/team-a/explanations", {"kind": "Explanation"}) == b"{}"
    assert [call.body for call in fake.calls] == [{"kind": "Explanation"}] * 2

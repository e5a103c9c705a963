"""What faults between the page and the cluster mean to whoever looks."""

from __future__ import annotations

import pytest

from controller.dashboard.problems import problem
from controller.kube.errors import (
    ApiError,
    Forbidden,
    KubeError,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
    Unreachable,
    UnreadableObject,
)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (NotFound(404, "", "404 page not found"), "notServed"),
        (NotFound(404, "NotFound", 'explanations "pod.x" not found'), "notFound"),
        (Forbidden(403, "Forbidden", 'User "j" cannot list resource "queuepods"'), "forbidden"),
        (Unauthorized(401, "Unauthorized", "Unauthorized"), "signedOut"),
        (ServerError(503, "ServiceUnavailable", "only the leader answers"), "notAnswering"),
        (TooManyRequests(429, "TooManyRequests", "slow down"), "notAnswering"),
        (UnreadableObject("queuepods: Expected array"), "otherVersion"),
        (Unreachable("https://127.0.0.1:1: no connection"), "unreachable"),
        (ApiError(400, "BadRequest", "no"), "failed"),
        (ServerError(500, "InternalError", "oops"), "failed"),
    ],
)
def test_each_fault_has_a_word_and_a_text(error: KubeError, kind: str) -> None:
    found = problem(error)
    assert found.kind == kind
    assert found.message


def test_who_lacks_a_right_reads_which_role_to_ask_for() -> None:
    text = 'User "j" cannot list resource "queuepods" in API group "visibility.penstock.dev" at the cluster scope'
    found = problem(Forbidden(403, "Forbidden", text))
    assert found.message == text
    assert found.advice == "Ask for the ClusterRole penstock-visibility-viewer in the whole cluster."

"""Others who change pods at CREATE, after us: our work stays as it is, and theirs is judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.accounts import AccountTeam, noted_of
from tests.support.eventually import eventually
from tests.support.other_webhook import another_webhook
from tests.support.team import Json

pytestmark = pytest.mark.integration

ASKS_TWICE = {"labels": {"asks": "twice"}}
LATE = {"key": "late", "operator": "Exists"}
SPOT = {"key": "spot", "operator": "Exists", "effect": "NoSchedule"}
ADD_LATE: list[Json] = [
    {"op": "add", "path": "/metadata/labels/late", "value": "yes"},
    {"op": "add", "path": "/spec/tolerations/-", "value": LATE},
]


async def test_what_we_gave_is_there_once_when_we_are_called_again(team: AccountTeam, tmp_path: Path) -> None:
    name = await team.policy(
        "own",
        allowed={"tolerations": []},
        default={
            "nodeSelector": {"a": "b"},
            "tolerations": [{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}],
        },
    )
    await team.in_effect()
    async with another_webhook(team, ADD_LATE, tmp_path):

        async def called() -> Json | None:
            pod, warnings = await team.tried(metadata=ASKS_TWICE)
            assert warnings == []
            return pod if "late" in pod["metadata"]["labels"] else None

        pod = await eventually(called, message="the other webhook is not called")
    assert pod is not None
    assert pod["spec"]["nodeSelector"] == {"a": "b"}
    assert [pod["spec"]["tolerations"].count(one) for one in (SPOT, LATE)] == [1, 1]
    assert noted_of(pod) == f"SchedulingPolicy/{name}"


async def test_what_another_webhook_adds_is_judged(team: AccountTeam, tmp_path: Path) -> None:
    await team.policy("own", allowed={})
    await team.in_effect()
    async with another_webhook(team, ADD_LATE, tmp_path):

        async def refused() -> str | None:
            answer, _ = await team.tried(metadata=ASKS_TWICE)
            return str(answer["message"]) if answer.get("code") == 403 else None

        message = await eventually(refused, message="the other webhook's toleration passes")
    assert message is not None
    assert "spec.tolerations[2] is late, which needs allowed.tolerations" in message

"""What is created is answered and kept by nobody: who may, what of the answer they see, and when others come first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest

from controller.extension_api.authorization import Action
from controller.extension_api.bodies import LIMIT
from controller.extension_api.creating import MOST
from controller.extension_api.paths import ROOT
from controller.extension_api.resources import API_VERSION, EVERYWHERE
from tests.support.eventually import eventually
from tests.support.sample_creation import Doubler
from tests.support.served_api import ServedApi

PATH = f"{ROOT}/doublings"
OBJECT = {"apiVersion": API_VERSION, "kind": "Doubling", "metadata": {"name": "mine"}, "spec": {"number": 2}}
JSON = {"Content-Type": "application/json"}


class Doublings:
    """Doublings as they are served, and who sends some."""

    def __init__(self, served: ServedApi, session: aiohttp.ClientSession, doubler: Doubler) -> None:
        self.served, self.doubler, self._session = served, doubler, session

    async def send(self, body: object = None, path: str = PATH, **options: Any) -> tuple[int, Any]:
        data = BytesIO(body if isinstance(body, bytes) else orjson.dumps(body or OBJECT))
        headers = {**JSON, **options.pop("headers", {})}
        return await self.served.get(self._session, path, method="POST", data=data, headers=headers, **options)

    async def get(self, path: str) -> tuple[int, Any]:
        return await self.served.get(self._session, path)


@pytest.fixture
def served(tmp_path: Path) -> ServedApi:
    return ServedApi(tmp_path)


@pytest.fixture
async def doublings(served: ServedApi) -> AsyncIterator[Doublings]:
    doubler = Doubler()
    async with served.serve(doubler.registry()) as session:
        yield Doublings(served, session, doubler)


async def test_the_object_comes_back_with_its_status(doublings: Doublings) -> None:
    code, body = await doublings.send()
    spec = {"number": 2, "texts": [], "pods": []}
    assert (code, body) == (201, {**OBJECT, "spec": spec, "status": {"number": 4, "users": {"ann": 1}}})
    parameters = {"fieldManager": "kubectl-create", "fieldValidation": "Strict", "dryRun": "All", "timeout": "30s"}
    assert (await doublings.send(params=parameters))[0] == 201


async def test_it_can_only_be_created(doublings: Doublings) -> None:
    for path, verb in ((PATH, "list"), (f"{PATH}/mine", "get")):
        code, body = await doublings.get(path)
        assert code == 405
        assert body["message"] == f"{verb} is not supported on doublings; what is supported: create"
    assert (await doublings.send(path=f"{PATH}/mine"))[0] == 405
    _, found = await doublings.get(ROOT)
    assert [one["verbs"] for one in found["resources"]] == [["create"]]


async def test_it_takes_a_right_of_its_own(doublings: Doublings) -> None:
    doublings.served.authorizer.denied = Action.ours("create", "doublings", "", "", "")
    code, body = await doublings.send()
    assert code == 403
    assert body["message"].startswith('User "jane" cannot create resource "doublings" in API group')
    assert body["message"].endswith("at the cluster scope; ask for this right")
    assert doublings.doubler.asked == []


async def test_what_a_viewer_may_not_see_is_left_out(doublings: Doublings) -> None:
    doublings.served.authorizer.hidden = EVERYWHERE
    code, body = await doublings.send()
    assert (code, body["status"]) == (201, {"number": 4, "users": {}})


async def test_who_names_a_namespace_has_to_see_it(doublings: Doublings) -> None:
    doublings.served.authorizer.hidden = frozenset({"secret"})
    code, body = await doublings.send({**OBJECT, "spec": {"number": 1, "pods": [{"namespace": "secret"}]}})
    assert (code, body["message"]) == (
        403,
        'User "jane" cannot see names of pods in the namespace "secret"; ask for the ClusterRole view there',
    )
    assert doublings.doubler.asked == []
    assert (await doublings.send({**OBJECT, "spec": {"number": 1, "pods": [{"namespace": "open"}]}}))[0] == 201


@pytest.mark.parametrize(
    ("body", "options", "code", "reason", "told"),
    [
        ({**OBJECT, "spec": {"number": 0}}, {}, 422, "Invalid", "spec.number: Invalid value: 0"),
        (b"[" * 100_000, {}, 400, "BadRequest", "nested too deep"),
        (b" " * (LIMIT + 1), {}, 413, "RequestEntityTooLarge", "limit is 1048576"),
        (OBJECT, {"headers": {"Content-Type": "application/yaml"}}, 415, "UnsupportedMediaType", "application/json"),
        (OBJECT, {"headers": {"Content-Encoding": "gzip"}}, 415, "UnsupportedMediaType", "as it is"),
        (OBJECT, {"headers": {"Accept": "application/yaml"}}, 406, "NotAcceptable", "only application/json"),
        (OBJECT, {"params": {"fieldValidation": "Ignore"}}, 400, "BadRequest", "is always refused"),
        (OBJECT, {"params": {"limit": "1"}}, 400, "BadRequest", "limit=1 is not supported"),
    ],
)
async def test_what_cannot_be_answered_says_why(
    doublings: Doublings, body: object, options: dict[str, Any], code: int, reason: str, told: str
) -> None:
    found, status = await doublings.send(body, **options)
    assert (found, status["reason"]) == (code, reason), status
    assert told in status["message"]


async def test_before_anything_is_known_nothing_is_created(doublings: Doublings) -> None:
    doublings.served.unsynced = "not listed yet: pods"
    assert (await doublings.send())[0] == 503


async def test_an_answer_is_due_in_time(doublings: Doublings) -> None:
    doublings.doubler.may_answer.clear()
    code, body = await doublings.send(params={"timeout": "1s"})
    assert (code, body["reason"]) == (504, "Timeout")


async def test_only_a_few_wait_and_readers_do_not(doublings: Doublings) -> None:
    doublings.doubler.may_answer.clear()
    async with asyncio.TaskGroup() as group:
        sent = [group.create_task(doublings.send(), name="sent") for _ in range(MOST)]

        async def all_wait() -> bool:
            return len(doublings.doubler.asked) == MOST

        await eventually(all_wait)
        code, body = await doublings.send()
        assert (code, body["details"]["retryAfterSeconds"]) == (429, 5)
        assert (await doublings.get(PATH))[0] == 405
        doublings.doubler.may_answer.set()
    assert {task.result()[0] for task in sent} == {201}
    assert (await doublings.send())[0] == 201

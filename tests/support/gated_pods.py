"""Pods with our gate as `penstock release` meets them, what may refuse to open it, and an apiserver without haste."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import click
import orjson
import pytest

from controller.core.gate.opening import GatedPod
from controller.core.keys import GATE
from controller.kube.decode import decode_gated
from controller.kube.errors import Forbidden, ServerError
from tests.support.fake_client import FakeClient

Json = dict[str, Any]
PROTECTED = Forbidden(
    403, "Forbidden", 'pods "one" is forbidden: … denied request: gate-is-ours: spec.schedulingGates: …'
)


def webhook_failed(name: str) -> ServerError:
    return ServerError(500, "InternalError", f'Internal error occurred: failed calling webhook "{name}": refused')


def a_pod(name: str = "one", gates: Sequence[str] = (GATE,), **metadata: Any) -> Json:
    metadata = {"name": name, "namespace": "team-a", "uid": name, "generation": 1, "resourceVersion": "5", **metadata}
    spec = {"schedulingGates": [{"name": gate} for gate in gates], "containers": [{"resources": {"requests": "odd"}}]}
    return {"metadata": metadata, "spec": spec}


def gated(document: Json) -> GatedPod:
    pod = decode_gated(orjson.dumps(document))
    assert pod is not None
    return pod


def answers_no(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let every question be answered with no; what is returned fills as they are asked."""
    questions = list[str]()

    def answer(question: str) -> bool:
        questions.append(question)
        return False

    monkeypatch.setattr(click, "confirm", answer)
    return questions


class Slow(FakeClient):
    """An apiserver that takes its time, as far as the event loop is concerned."""

    async def __aenter__(self) -> FakeClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        return

    async def patch(self, path: str, body: object, **options: Any) -> bytes:
        await asyncio.sleep(0)
        answer = await super().patch(path, body, **options)
        await asyncio.sleep(0)
        return answer

"""Whom a kubeconfig says to act as, that is who asks the apiserver."""

from __future__ import annotations

import asyncio
from pathlib import Path

import orjson
import pytest
import yaml

from controller.kube import config
from controller.kube.client import Client
from controller.sandbox import Sandbox

pytestmark = pytest.mark.integration

_REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}


async def test_a_kubeconfig_acts_as_whom_it_says(sandbox: Sandbox, tmp_path: Path) -> None:
    document = yaml.safe_load(await asyncio.to_thread(sandbox.kubeconfig.read_text))
    (entry,) = document["users"]
    entry["user"] |= {"as": "jane", "as-groups": ["ops"], "as-user-extra": {"example.com/team": ["vision"]}}
    file = tmp_path / "kubeconfig"
    await asyncio.to_thread(file.write_text, yaml.safe_dump(document))
    async with Client(await config.load(str(file)), user_agent="tests") as client:
        answer = orjson.loads(await client.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", _REVIEW))
    found = answer["status"]["userInfo"]
    assert (found["username"], set(found["groups"])) == ("jane", {"ops", "system:authenticated"})
    assert found["extra"] == {"example.com/team": ["vision"]}

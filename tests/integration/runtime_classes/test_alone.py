"""An apiserver whose own RuntimeClass admission is switched off: then all of it is the step's work."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from controller.kube.errors import Forbidden
from controller.sandbox import Sandbox
from tests.integration.runtime_classes.conftest import Corner
from tests.support.clusters import a_cluster

pytestmark = pytest.mark.integration

RULES = {
    "scheduling": {"nodeSelector": {"runtime": "kata"}, "tolerations": [{"key": "sandboxed", "operator": "Exists"}]},
    "overhead": {"podFixed": {"cpu": "250m"}},
}


@pytest.fixture(scope="module")
def bare() -> Iterator[Sandbox]:
    launch = {"apiserver_flags": {"disable-admission-plugins": "RuntimeClass"}}
    arguments = ("--runtime-classes",)
    with a_cluster(launch=launch, components=("runtime-class",), webhook_arguments=arguments) as cluster:
        yield cluster.sandbox


@pytest.fixture
async def alone(bare: Sandbox) -> AsyncIterator[Corner]:
    async with bare.client() as client:
        made = Corner(client, bare)
        await made.open()
        yield made
        await made.close()


async def test_a_class_that_a_pod_names_is_merged(alone: Corner) -> None:
    name = await alone.runtime_class("kata", **RULES)
    created = (await alone.pod("one", queue=None, spec={"runtimeClassName": name}))["spec"]
    assert (created["nodeSelector"], created["overhead"]) == ({"runtime": "kata"}, {"cpu": "250m"})
    assert [t["key"] for t in created["tolerations"]].count("sandboxed") == 1


async def test_an_empty_class_name_takes_the_default(alone: Corner) -> None:
    name = await alone.runtime_class("kata", **RULES)
    await alone.default_class(name)
    created = (await alone.pod("one", queue=None, spec={"runtimeClassName": ""}))["spec"]
    assert (created["runtimeClassName"], created["nodeSelector"]) == (name, {"runtime": "kata"})


async def test_without_any_default_a_pod_stays_as_it_is(alone: Corner) -> None:
    created = (await alone.pod("one", queue=None))["spec"]
    assert "runtimeClassName" not in created


async def test_a_named_class_at_fault_is_refused_in_our_words(alone: Corner) -> None:
    name = await alone.runtime_class("kata", **RULES)
    with pytest.raises(Forbidden, match=rf"is 'runc', but RuntimeClass '{name}' demands 'kata'"):
        await alone.pod("one", queue=None, spec={"runtimeClassName": name, "nodeSelector": {"runtime": "runc"}})
    with pytest.raises(Forbidden, match=r"RuntimeClass 'legacy' does not exist: create it, or name one"):
        await alone.pod("two", queue=None, spec={"runtimeClassName": "legacy"})

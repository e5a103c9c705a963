"""What `penstock doctor` makes of how old what the controller knows is. Real clusters: tests/integration/doctor."""

from __future__ import annotations

from typing import Any

import pytest

from controller.cli.doctor_checks.cache import CACHE
from controller.cli.doctor_checks.every import examine
from controller.kube.errors import ServerError
from tests.support.still_cluster import Json, StillClient

SOURCES = "/apis/visibility.penstock.dev/v1alpha1/cachesources"


async def found(client: StillClient) -> list[tuple[str, str, str]]:
    """Severity, where and what of each finding."""
    (result,) = await examine(client.cluster, (CACHE,))
    assert result.is_done
    return [(one.severity.value, one.where, one.what) for one in result.findings]


def sources(**ages: int) -> dict[str, Json]:
    rows = {name: {"up": not age, "staleSeconds": age} for name, age in ages.items()}
    return {SOURCES: {"items": [{"metadata": {"name": name}, "status": row} for name, row in rows.items()]}}


@pytest.mark.parametrize(
    ("ages", "expected"),
    [
        ({"pods": 0, "nodes": 10}, []),
        ({"pods": 0, "nodes": 11}, [("Warning", "nodes", "11 s")]),
        ({"pods": 75, "nodes": 61}, [("Error", "pods, nodes", "75 s")]),
        ({"pods": 600, "nodes": 60}, [("Error", "pods", "600 s"), ("Warning", "nodes", "60 s")]),
    ],
)
async def test_what_nothing_keeps_up_is_found(ages: dict[str, int], expected: list[tuple[str, str, str]]) -> None:
    texts = await found(StillClient(sources(**ages)))
    assert [(severity, where) for severity, where, _ in texts] == [
        (severity, f"what the controller knows of {names}") for severity, names, _ in expected
    ]
    for (_, _, age), (_, _, what) in zip(expected, texts, strict=True):
        assert what.startswith(f"may be out of date for {age}: ")


async def test_where_nobody_says_how_old_it_is_nothing_is_found() -> None:
    (result,) = await examine(StillClient({}).cluster, (CACHE,))
    assert (result.findings, result.is_done) == ((), False)
    assert (
        result.unseen
        == "the visibility API, which says how old what the controller knows is, is not enabled or of an older version"
    )


async def test_a_controller_that_has_listed_nothing_is_found() -> None:
    class Unlisted(StillClient):
        async def get(self, path: str, params: Any = None, **more: Any) -> bytes:
            if path == SOURCES:
                raise ServerError(503, "ServiceUnavailable", "not listed yet: pods")
            return await super().get(path, params, **more)

    ((severity, where, what),) = await found(Unlisted({}))
    assert (severity, where) == ("Warning", "the visibility API")
    assert what.endswith("not listed yet: pods")

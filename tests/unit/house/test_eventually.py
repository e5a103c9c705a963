"""The helper that all waiting tests stand on."""

from __future__ import annotations

import pytest

from tests.support.eventually import eventually


async def test_it_returns_what_became_true() -> None:
    answers = iter([0, None, 7])
    assert await eventually(lambda: next(answers)) == 7


async def test_an_assertion_means_not_yet() -> None:
    seen: list[int] = []

    async def third_time() -> bool:
        seen.append(1)
        assert len(seen) >= 3
        return True

    assert await eventually(third_time)


async def test_a_field_that_is_not_there_yet_means_not_yet() -> None:
    status: dict[str, int] = {}

    async def told() -> bool:
        status.setdefault("looks", 0)
        status["looks"] += 1
        if status["looks"] == 3:
            status["nodes"] = 1
        return status["nodes"] == 1

    assert await eventually(told)


async def test_it_fails_with_the_message_and_what_was_seen_last() -> None:
    with pytest.raises(AssertionError, match=r"no luck; last seen after 0.01 s: \[\]"):
        await eventually(list, seconds=0.01, message="no luck")
    with pytest.raises(AssertionError, match=r"last seen .* AssertionError: two of three"):
        await eventually(refuses, seconds=0.01)


def refuses() -> bool:
    raise AssertionError("two of three")

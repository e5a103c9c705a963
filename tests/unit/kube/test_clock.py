from __future__ import annotations

import pytest

from controller.kube.clock import epoch, rfc3339


@pytest.mark.parametrize("text", ["1970-01-01T00:00:00Z", "2026-03-01T08:00:00Z", "9999-12-31T23:59:59Z"])
def test_a_time_that_is_read_can_be_written_again(text: str) -> None:
    assert rfc3339(epoch(text)) == text


@pytest.mark.parametrize(
    "text",
    ["x", "10000-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "0000-01-01T00:00:00Z"],
)
def test_what_is_no_time_or_not_writable_is_not_read(text: str) -> None:
    with pytest.raises(ValueError, match=r"year|isoformat"):
        epoch(text)


def test_an_absent_time_is_zero() -> None:
    assert epoch(None) == epoch("") == 0.0

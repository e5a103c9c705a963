"""Times as people say them of the history."""

from __future__ import annotations

import pytest

from controller.history.times import read_time
from controller.kube.clock import epoch, rfc3339

NOW = int(epoch("2026-11-27T12:00:00Z"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", "2026-11-27T12:00:00Z"),
        ("90m", "2026-11-27T10:30:00Z"),
        ("36h", "2026-11-26T00:00:00Z"),
        ("7d", "2026-11-20T12:00:00Z"),
        ("2w", "2026-11-13T12:00:00Z"),
        ("99999999w", "1970-01-01T00:00:00Z"),
        ("2026-11-01", "2026-11-01T00:00:00Z"),
        ("2026-11-01T14:00:00Z", "2026-11-01T14:00:00Z"),
        ("2026-11-01T14:00:00+02:00", "2026-11-01T12:00:00Z"),
        ("0001-01-01", "1970-01-01T00:00:00Z"),
    ],
)
def test_a_time_is_read(text: str, expected: str) -> None:
    assert rfc3339(read_time(text, NOW)) == expected


@pytest.mark.parametrize("text", ["", "d", "7", "-7d", "7y", "2026-11-01T14:00:00", "0001-01-01T00:00:00+14:00"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_time(text, NOW)

"""What `make soak` sets reaches the tests that draw by seeds."""

from __future__ import annotations

import pytest

from tests.support.seeds import SEEDS, seeds


def test_few_seeds_are_tried_unless_more_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SEEDS, raising=False)
    assert list(seeds(3)) == [0, 1, 2]
    monkeypatch.setenv(SEEDS, "5")
    assert len(seeds(3)) == 5
    assert len(seeds(8)) == 8


def test_a_number_of_seeds_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SEEDS, "many")
    with pytest.raises(ValueError, match="many"):
        seeds(3)

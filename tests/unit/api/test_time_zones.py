"""Time zones by name."""

from __future__ import annotations

from importlib.resources import files

import pytest

from controller.api.time_zones import is_zone, load_zone
from tests.support.zones import utc

NAMES = files("tzdata").joinpath("zones").read_text(encoding="utf-8").split()


def test_every_zone_that_is_listed_can_be_loaded() -> None:
    assert len(NAMES) > 400
    for name in NAMES:
        assert is_zone(name)
        assert abs(load_zone(name).offset_at(utc("2026-07-01 00:00"))) <= 14 * 3600


@pytest.mark.parametrize("name", ["", "Local", "localtime", "posixrules", "Europe", "europe/berlin", "../etc/passwd"])
def test_what_is_no_zone_is_told_apart(name: str) -> None:
    assert not is_zone(name)


def test_zones_are_equal_by_name() -> None:
    assert load_zone("Europe/Berlin") == load_zone("Europe/Berlin") != load_zone("Europe/Paris")


def test_an_offset_is_that_of_the_season() -> None:
    berlin = load_zone("Europe/Berlin")
    assert [berlin.offset_at(utc(f"2026-{month}-01 00:00")) for month in ("01", "07")] == [3600, 7200]

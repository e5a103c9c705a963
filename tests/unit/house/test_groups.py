"""Tests of one group run in one process, so that they share what they start: `tests/conftest.py` rests on that."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_TESTS = """
import pytest

@pytest.fixture(scope="module", params=["one", "two"])
def way(request, worker_id):
    return worker_id

@pytest.mark.xdist_group("a/folder.py:Way.ONE")
@pytest.mark.parametrize("number", range(6))
def test_of_a_group(way, number):
    print(f"ran in {way}")
"""


def test_tests_of_a_group_run_in_one_process(tmp_path: Path) -> None:
    (tmp_path / "test_grouped.py").write_text(_TESTS)
    options = ["-n", "3", "--dist=loadgroup", "-rP", "-p", "no:cacheprovider", "-W", "ignore"]
    command = [sys.executable, "-m", "pytest", *options, "test_grouped.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    ran = [line for line in done.stdout.splitlines() if line.startswith("ran in ")]
    assert len(ran) == 12, done.stdout
    assert len(set(ran)) == 1


def test_every_group_is_known_to_pytest_xdist(request: pytest.FixtureRequest, worker_id: str) -> None:
    named = {item.nodeid: mark.args[0] for item in request.session.items for mark in item.iter_markers("xdist_group")}
    assert not [name for name in named.values() if "]" in name or "@" in name]
    if worker_id != "master":
        assert not [nodeid for nodeid, name in named.items() if not nodeid.endswith(f"@{name}")]

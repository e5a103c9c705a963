"""The bill of materials has every package that the image is made of, and is the same each time."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.more  # it installs what writes it


def written() -> str:
    subprocess.run([shutil.which("make") or "make", "--silent", "sbom"], cwd=ROOT, timeout=240, check=True)
    return (ROOT / "build" / "penstock.cdx.json").read_text()


def test_it_has_all_that_is_locked_and_is_reproducible() -> None:
    bill = json.loads(text := written())
    locked = re.findall(
        r"^([\w.-]+)(?:\[\S+\])?==(\S+)", (ROOT / "requirements" / "runtime.txt").read_text(), re.MULTILINE
    )
    assert locked
    assert sorted((one["name"], one["version"]) for one in bill["components"]) == sorted(locked)
    assert bill["metadata"]["component"]["name"] == "penstock"
    assert written() == text


def test_it_has_the_packages_of_the_page() -> None:
    written()
    bill = json.loads((ROOT / "build" / "penstock-page.cdx.json").read_text())
    named = {one["name"] for one in bill["components"]}
    assert set(json.loads((ROOT / "page" / "package.json").read_text())["dependencies"]) <= named
    assert "vite" not in named

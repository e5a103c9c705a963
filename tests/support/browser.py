"""Chromium for the tests of the page: `python -m tests.support.browser` installs it where apt is there.

Playwright brings browsers of its own only from an address that not every machine reaches.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_PACKAGE = "chromium"

FLAGS = (
    "--no-sandbox",  # tests may run as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    # nothing but the page is asked for
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def find() -> Path | None:
    """Return a Chromium of this machine; None: there is none."""
    named = os.environ.get("PENSTOCK_CHROMIUM")
    found = named or next(filter(None, map(shutil.which, _NAMES)), None)
    return None if found is None else Path(found)


def install() -> None:
    """Install it where apt is there and may be used; elsewhere say what is missing."""
    if find() is not None:
        return
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        _say("no Chromium: the tests of the page are skipped. Install it, or name one in PENSTOCK_CHROMIUM")
        return
    _say("Chromium for the tests of the page, by apt")
    command = [apt, "install", "--yes", "--no-install-recommends", "--quiet=2", _PACKAGE]
    if _run(command).returncode != 0:
        _run([apt, "update", "--quiet=2"])
        _run(command).check_returncode()


def _run(command: list[str]) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(command, env=environment, capture_output=True, check=False)


def _say(text: str) -> None:
    sys.stdout.write(f"==> {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    install()

"""`python -m docsite.building [folder]`: build the site of the documentation, strictly. `make docs` runs it.

A link or an anchor that leads nowhere is an error, as is a page that the navigation does not have.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from docsite.staging import ROOT, stage

CONFIG = Path(__file__).with_name("zensical.toml")


class SiteError(Exception):
    """What keeps the site from being built: one fault a line."""


def build(folder: Path, root: Path = ROOT, config: Path = CONFIG) -> Path:
    """Build the site of the documents of `root` below `folder`; return where it is."""
    pages, site = folder / "pages", folder / "site"
    for old in (pages, site, folder / ".cache"):
        shutil.rmtree(old, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(config, folder / config.name)
    staged = stage(pages, root)
    listed = list(_listed(tomllib.loads(config.read_text(encoding="utf-8"))["project"]["nav"]))
    _check_navigation(staged, listed)
    arguments = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", config.name]
    done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SiteError(done.stdout + _without_traceback(done.stderr))
    return site


def _check_navigation(staged: Iterable[str], listed: Iterable[str]) -> None:
    pages, entries = set(staged), list(listed)
    faults = [
        *(f"docs/{page}: is not in the nav of {CONFIG.name}; add it" for page in sorted(pages - set(entries))),
        *(f"{CONFIG.name}: nav: {entry}: is no page" for entry in sorted(set(entries) - pages)),
        *(
            f"{CONFIG.name}: nav: {entry}: is there twice"
            for entry in sorted({e for e in entries if entries.count(e) > 1})
        ),
    ]
    if faults:
        raise SiteError("\n".join(faults))


def _listed(nav: list[Any]) -> Iterator[str]:
    for entry in nav:
        if isinstance(entry, str):
            yield entry
        else:
            for within in entry.values():
                yield from _listed(within if isinstance(within, list) else [within])


def _without_traceback(errors: str) -> str:
    return errors.partition("Traceback (most recent call last)")[0]


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{build(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / 'build')}\n")
    except SiteError as error:
        sys.exit(str(error))

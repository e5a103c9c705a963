"""Copies the pages of docs/ to a folder that the site is built from, with what they link to outside of docs/.

A link such as `../CONTRIBUTING.md` works on GitHub. On the site it has to lead to a page: README.md is the first page,
the other documents at the root are pages below project/, and any other file or folder becomes a page that shows it.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
_PROJECT = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md")
_FENCE = re.compile(r"(^ *```.*?^ *```\s*?$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(\]\()([^)\s]+)(\))")
_LANGUAGES = {".yaml": "yaml", ".yml": "yaml", ".py": "python", ".json": "json", ".toml": "toml"}


def stage(destination: Path, root: Path = ROOT) -> list[str]:
    """Write the pages below `destination`, an empty folder; return those that a reader has to find, by path."""
    return _Pages(root, destination).write()


class _Pages:
    def __init__(self, root: Path, destination: Path) -> None:
        self._root = root
        self._destination = destination
        self._places = {
            **{f"docs/{one.relative_to(root / 'docs')}": one for one in sorted((root / "docs").rglob("*.md"))},
            **{name: root / name for name in ("README.md", *_PROJECT)},
        }
        self._shown: set[str] = set()

    def write(self) -> list[str]:
        shutil.copytree(self._root / "docs", self._destination, dirs_exist_ok=True)
        for path, source in self._places.items():
            self._put(_place(path), self._relinked(path, source.read_text(encoding="utf-8")))
        return sorted(_place(path) for path in self._places)

    def _put(self, place: str, text: str) -> None:
        file = self._destination / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def _relinked(self, path: str, text: str) -> str:
        """The text of a page with its links as the site has them; code in it stays as it is."""
        parts = _FENCE.split(text)
        for at in range(0, len(parts), 2):
            parts[at] = _LINK.sub(lambda found: found[1] + self._target(path, found[2]) + found[3], parts[at])
        return "".join(parts)

    def _target(self, path: str, link: str) -> str:
        target, hash_, anchor = link.partition("#")
        if not target or ":" in target:
            return link
        wanted = os.path.normpath(PurePosixPath(path).parent / target)
        if (self._root / wanted / "README.md").is_file():
            wanted = f"{wanted}/README.md"
        file = self._root / wanted
        if not file.exists() or (wanted.startswith("docs/") and wanted not in self._places):
            return link  # a picture, or a link that leads nowhere: the build says so
        if wanted not in self._places and wanted not in self._shown:
            self._shown.add(wanted)
            self._put(_place(wanted), self._page_of(wanted, file))
        return os.path.relpath(_place(wanted), PurePosixPath(_place(path)).parent) + hash_ + anchor

    def _page_of(self, path: str, file: Path) -> str:
        if file.is_dir():
            names = sorted(one.name for one in file.iterdir() if not one.name.startswith("."))
            listed = "\n".join(f"- [{name}]({file.name}/{name})" for name in names)
            return self._relinked(path, f"# {path}\n\n{listed}\n")
        text = file.read_text(encoding="utf-8")
        return f"# {path}\n\n````{_LANGUAGES.get(file.suffix, 'text')}\n{text}````\n"


def _place(path: str) -> str:
    """Where the site has what is at `path` in the repository."""
    if path == "README.md":
        return "index.md"
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"project/{path}" if path in _PROJECT else f"files/{path}.md"

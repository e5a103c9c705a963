"""What pages of the documentation tell readers to run: the lines of their code blocks, and code in their sentences."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.support.documented import ROOT

_BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`([^`]+)`")
_SHELLS = {"console", "sh", "bash"}
_ENDS = {"|", ">", ">>", "<", "&&", ";", "||"}


class Line(NamedTuple):
    """A command on a page: its words, without what its output goes to."""

    page: str
    words: tuple[str, ...]


def examples(page: str) -> dict[str, list[list[dict[str, Any]]]]:
    """Return the objects of each YAML block of a page of docs/, in order, by the section that the blocks are in."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    sections = [part.partition("\n") for part in re.split(r"^## ", text, flags=re.MULTILINE)]
    found = {
        title: [list(yaml.safe_load_all(block)) for _, language, block in _BLOCK.findall(body) if language == "yaml"]
        for title, _, body in sections
    }
    return {title: blocks for title, blocks in found.items() if blocks}


def pages() -> list[Path]:
    """The pages that people write: README.md, CONTRIBUTING.md and those below docs/."""
    written = [one for one in sorted((ROOT / "docs").rglob("*.md")) if one.parent.name != "reference"]
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *written]


def commands(*programs: str) -> list[Line]:
    """What pages run in code blocks with these programs, in order."""
    return [
        Line(str(page.relative_to(ROOT)), words)
        for page in pages()
        for text in _typed(page.read_text(encoding="utf-8"))
        for words in _calls(text)
        if words[0] in programs
    ]


def named(program: str) -> list[Line]:
    """What pages name in their sentences as a command of this program."""
    return [
        Line(str(page.relative_to(ROOT)), tuple(code.split()))
        for page in pages()
        for code in _INLINE.findall(re.sub(r"\s+", " ", _BLOCK.sub("", page.read_text(encoding="utf-8"))))
        if code.startswith(f"{program} ")
    ]


def _typed(text: str) -> Iterator[str]:
    """The lines that a reader types: of a block with prompts those that have one, else all."""
    for _, language, block in _BLOCK.findall(text):
        if language in _SHELLS:
            lines = re.sub(r"\\\n\s*", "", block).splitlines()
            prompted = [line.strip()[2:] for line in lines if line.strip().startswith("$ ")]
            yield from prompted or (line.strip() for line in lines)


def _calls(line: str) -> Iterator[tuple[str, ...]]:
    """The calls of a line, each without redirections; `eval "$(penstock …)"` is a call of penstock."""
    inner = re.search(r"\$\((.*?)\)", line)
    words = shlex.split(inner[1] if inner else line, comments=True)
    call: list[str] = []
    for word in [*words, ";"]:
        if word not in _ENDS and not word.startswith("<<"):
            call.append(word)
            continue
        if call:
            yield tuple(call)
        call = []

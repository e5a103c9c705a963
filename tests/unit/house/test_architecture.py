"""ARCHITECTURE.md, the rooms and the texts of the code name only modules that are there: a map must not lie."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[3]
_ROOMS = (
    "api",
    "cache",
    "cli",
    "core",
    "demo",
    "extension_api",
    "kube",
    "objects",
    "replay",
    "runtime",
    "sandbox",
    "simulator",
    "telemetry",
)
_PATH = re.compile(rf"`(?:controller/)?((?:{'|'.join(_ROOMS)}|webhook)/[a-z_/]+)(?:\.([A-Za-z_]+))?[^`]*`")
_MODULE = re.compile(rf"`(?:controller\.)?((?:{'|'.join(_ROOMS)})(?:\.[a-z_]+)+)")
_IN_CORE = sorted(room.name for room in (_ROOT / "controller/core").iterdir() if (room / "__init__.py").exists())
_ROOM_OF_CORE = re.compile(rf"`((?:{'|'.join(_IN_CORE)})\.[a-z_]+)\b")


def module(path: str) -> Path | None:
    """The file, or a folder's `__init__`, that a path such as `core/quota/quota_tree` means."""
    at = _ROOT / path if path.startswith("webhook") else _ROOT / "controller" / path
    return next((file for file in (at.with_suffix(".py"), at / "__init__.py") if file.exists()), None)


def defines(file: Path, name: str) -> bool:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    named = (getattr(node, "name", getattr(node, "id", "")) for node in ast.walk(tree))
    return name in named


def test_the_maps_name_what_is_there() -> None:
    """With what a file defines, where it says `file.name`; `config/` and others are not Python."""
    rooms = [file for room in ("controller", "webhook") for file in sorted((_ROOT / room).rglob("__init__.py"))]
    maps = [file.read_text(encoding="utf-8") for file in (_ROOT / "ARCHITECTURE.md", *rooms)]
    named = [found for text in maps for found in _PATH.findall(text)]
    assert len(named) > 200
    lacking = [path for path, name in named if (file := module(path)) is None or (name and not defines(file, name))]
    assert not lacking


def test_what_is_told_of_a_decision_names_modules_of_the_core() -> None:
    """By their names alone, as it is about nothing else."""
    named = re.findall(r"`([a-z_]+)`", (_ROOT / "docs" / "decision.md").read_text(encoding="utf-8"))
    assert len(named) > 20
    assert not set(named) - {file.stem for file in (_ROOT / "controller/core").rglob("*.py")}


def texts(folder: str) -> Iterator[tuple[Path, str]]:
    for file in sorted((_ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield file.relative_to(_ROOT), node.value


def is_there(name: str) -> bool:
    """Whether `core.quota.quota_tree` is a module, or `core.quota.quota_tree.Cell` is defined by one."""
    path = name.replace(".", "/")
    within, _, last = path.rpartition("/")
    file = module(within)
    return module(path) is not None or (file is not None and defines(file, last))


@pytest.mark.parametrize("folder", ["controller", "webhook", "tests"])
def test_texts_name_modules_that_are_there(folder: str) -> None:
    """Within the core they are named by their room alone."""
    lacking = [
        f"{file}: {name}"
        for file, text in texts(folder)
        for name in (
            *_MODULE.findall(text),
            *(f"core.{one}" for one in _ROOM_OF_CORE.findall(text) if file.is_relative_to("controller/core")),
        )
        if not is_there(name)
    ]
    assert not lacking

"""No file, no function and no name of a test is longer than CONTRIBUTING.md allows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
SOURCES = ("controller", "webhook", "deploy", "tests")
FILE, FUNCTION, NAME = 400, 40, 60


def too_long(source: str, file: int = FILE, function: int = FUNCTION) -> Iterator[str]:
    """Names each with its length; decorators do not count."""
    count = len(source.splitlines())
    if count > file:
        yield f"the file: {count} lines"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > function:
                yield f"{node.name}: {length} lines"


def test_no_file_and_no_function_is_too_long() -> None:
    files = [path for folder in SOURCES for path in sorted((ROOT / folder).rglob("*.py"))]
    assert len(files) > 100
    found = [f"{path.relative_to(ROOT)}, {what}" for path in files for what in too_long(path.read_text("utf-8"))]
    assert not found, "\n".join(found)


def long_names(source: str, name: int = NAME) -> Iterator[str]:
    """Names of tests that do not stay under the bound."""
    functions = (
        node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    yield from (one.name for one in functions if one.name.startswith("test_") and len(one.name) >= name)


def test_no_name_of_a_test_is_too_long() -> None:
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    assert len(files) > 100
    found = [f"{path.relative_to(ROOT)}: {name}" for path in files for name in long_names(path.read_text("utf-8"))]
    assert not found, "\n".join(found)


def test_these_are_the_bounds_that_contributors_are_told() -> None:
    text = re.sub(r"\s+", " ", (ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    assert f"A file is about 150 lines and at most {FILE}, a function at most {FUNCTION}." in text
    assert f"in less than {NAME} characters" in text


def test_what_is_too_long_is_named_with_its_length() -> None:
    source = "@one\n@two\ndef short():\n    pass\n\nclass A:\n    async def long(self):\n        pass\n        pass\n"
    assert list(too_long(source, file=9, function=2)) == ["long: 3 lines"]
    assert list(too_long(source, file=8, function=3)) == ["the file: 9 lines"]


def test_a_name_that_is_too_long_is_found() -> None:
    source = "def test_ab(): ...\nclass A:\n    async def test_abc(self): ...\ndef helper_abc(): ...\n"
    assert list(long_names(source, name=8)) == ["test_abc"]

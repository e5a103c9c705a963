"""The glossary is in order, has each term once, and names only what the sources have."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
TERMS = re.findall(r"^- \*\*([^*]+)\*\*: ", GLOSSARY, re.MULTILINE)
OF_USERS = {"decide", "parent", "penstock.dev/held", "stopPolicy"}
"""Fields and annotations that users write, and the one function; all other code is a class or its member."""


def classes() -> dict[str, set[str]]:
    """The classes and aliases of the sources, each with the names in it."""
    found: dict[str, set[str]] = {}
    for file in ((ROOT / "controller" / room).rglob("*.py") for room in ("core", "cache", "visibility", "runtime")):
        for one in file:
            for node in ast.parse(one.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef):
                    names = {it.id for it in ast.walk(node) if isinstance(it, ast.Name)}
                    found.setdefault(node.name, set()).update(names)
                elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                    found.setdefault(node.targets[0].id, set())
    return found


def test_the_glossary_is_sorted_and_has_each_term_once() -> None:
    assert len(TERMS) > 40
    assert len(TERMS) == len(re.findall(r"^- ", GLOSSARY, re.MULTILINE))
    assert sorted({term.lower() for term in TERMS}) == [term.lower() for term in TERMS]


def test_the_glossary_names_code_that_is_there() -> None:
    known = classes()
    named = set(re.findall(r"`([^`]+)`", GLOSSARY)) - OF_USERS
    assert len(named) > 20
    parts = {name: name.split(".") for name in named}
    lacking = [name for name, (kind, *member) in parts.items() if kind not in known or set(member) - known[kind]]
    assert not lacking

"""Tests go by what the product offers: a private name can change without any promise being broken."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PRODUCT = ("controller", "webhook", "deploy")
OF_NAMED_TUPLES = frozenset({"_asdict", "_fields", "_make", "_replace"})


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in OF_NAMED_TUPLES | {"_"}


def is_of_product(module: str | None) -> bool:
    return (module or "").split(".")[0] in PRODUCT


def root_of(node: ast.expr) -> str:
    """The name that a chain of attributes, calls and subscripts begins with."""
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def patched(call: ast.Call) -> str:
    """The private name that a `setattr` or `patch.object` replaces, or the end of a path that `setattr` is given."""
    names = [one.value for one in call.args[:2] if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    last = names[0].rpartition(".")[2] if names else ""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    return last if name in ("setattr", "getattr", "object") and is_private(last) else ""


def private_names(source: str) -> Iterator[str]:
    """What a test uses of others: not of `self`, of `cls`, and of modules that are not the product's."""
    tree = ast.parse(source)
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
    foreign = {one.asname or one.name for node in imports for one in node.names if not is_of_product(one.name)}
    ours = {"self", "cls", *foreign}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and is_of_product(node.module):
            yield from (one.name for one in node.names if is_private(one.name))
        elif isinstance(node, ast.Attribute) and is_private(node.attr):
            is_own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            if not is_own and root_of(node) not in foreign:
                yield ast.unparse(node)
        elif isinstance(node, ast.Call) and (name := patched(node)) and root_of(node.args[0]) not in ours:
            yield name


def found() -> dict[str, list[str]]:
    files = sorted((ROOT / "tests").rglob("*.py"))
    assert len(files) > 100
    every = {str(file.relative_to(ROOT)): list(private_names(file.read_text("utf-8"))) for file in files}
    return {file: names for file, names in every.items() if names}


def test_tests_use_no_private_name_of_the_product() -> None:
    assert not found()


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("from controller.cache import _x", ["_x"]),
        ("from tests.support import _x", []),
        ("cache._pods.get(1)", ["cache._pods"]),
        ("a().cache._pods[0]", ["a().cache._pods"]),
        ("self._pods.get(1); pair._replace(a=1); one.__class__", []),
        ("self.cache._pods", ["self.cache._pods"]),
        ("import asyncio\nasyncio.Handle._run", []),
        ("patch.setattr(module, '_x', 1)", ["_x"]),
        ("patch.setattr('controller.cache.module._x', 1)", ["_x"]),
        ("patch.object(Thing, '_x')", ["_x"]),
        ("import asyncio\npatch.setattr(asyncio.Handle, '_x', 1)", []),
        ("name.endswith('_total')", []),
    ],
)
def test_private_names_are_found_however_they_are_used(source: str, names: list[str]) -> None:
    assert list(private_names(source)) == names

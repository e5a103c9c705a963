"""All the ways in which a module is broken, one at a time: a condition, a step, a bound or an entry less.

Words for people are left alone, but for which rule and cause a fault has.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

_BOUNDS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
_ENUMS: Final = {"Cause": "TOO_LONG", "Rule": "NO_NEW_FINALIZERS"}
_WORDS: Final = frozenset(("text", "hint", "more"))
"""Names of local variables that only hold words for people."""

Change = Callable[[ast.AST], ast.AST]


@dataclass(frozen=True)
class Mutant:
    """One broken module. `what` tells it from all others, wherever in the file it stands."""

    what: str
    tree: ast.Module


def mutants(source: str) -> Iterator[Mutant]:
    """Every mutant of a module, in the order of its lines."""
    module = ast.parse(source)
    seen: dict[str, int] = {}
    for name, path in _places(module, "", ()):
        original = _at(module, path)
        for change in _changes(original):
            broken = copy.deepcopy(module)
            place = _at(broken, path)
            replaced = change(place)
            if replaced is not place:
                _put(broken, path, replaced)
            tree = ast.fix_missing_locations(broken)
            what = f"{name}: {_short(original)} => {_short(replaced)}"
            seen[what] = seen.get(what, 0) + 1
            yield Mutant(f"{what} #{seen[what]}" if seen[what] > 1 else what, tree)


_Path = tuple[tuple[str, int | None], ...]


def _places(node: ast.AST, name: str, path: _Path) -> Iterator[tuple[str, _Path]]:
    """All nodes that may be broken, with the function that they are in."""
    for field, value in ast.iter_fields(node):
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if (
                not isinstance(child, ast.AST)
                or _is_words(child)
                or field in ("annotation", "returns", "decorator_list")
            ):
                continue
            inner = child.name if isinstance(child, ast.FunctionDef | ast.ClassDef) else name
            here = (*path, (field, index))
            yield inner or "module", here
            yield from _places(child, inner, here)


def _is_words(node: ast.AST) -> bool:
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Name) and target.id in _WORDS for target in node.targets)
    return isinstance(node, ast.JoinedStr | ast.ImportFrom | ast.Import)


def _at(module: ast.AST, path: _Path) -> ast.AST:
    node = module
    for field, index in path:
        value = getattr(node, field)
        node = value if index is None else value[index]
    return node


def _put(module: ast.AST, path: _Path, new: ast.AST) -> None:
    field, index = path[-1]
    holder = _at(module, path[:-1])
    if index is None:
        setattr(holder, field, new)
    else:
        getattr(holder, field)[index] = new


def _changes(node: ast.AST) -> Iterator[Change]:
    """What can be done to a node: each takes its copy and returns what is there instead."""
    match node:
        case ast.Expr(value=ast.Yield() | ast.YieldFrom()):
            # still a generator
            yield lambda _: ast.parse("yield from ()").body[0]
        case ast.Expr(value=ast.Call()) | ast.Return(value=None) | ast.AugAssign():
            yield lambda _: ast.Pass()
        case ast.If() | ast.IfExp():
            yield from (_with_test(value) for value in (True, False))
        case ast.match_case(guard=ast.expr()):
            yield _without_guard
        case ast.Compare() if type(node.ops[0]) in _BOUNDS:
            yield _with_other_bound
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            yield lambda _: ast.Constant(value + 1)
        case ast.Attribute(value=ast.Name(id=name), attr=entry) if entry != _ENUMS.get(name, entry):
            yield lambda _: ast.Attribute(ast.Name(name, ast.Load()), _ENUMS[name], ast.Load())
        case _:
            yield from _shorter(node)


def _shorter(node: ast.AST) -> Iterator[Change]:
    """An operand, alternative, condition or entry less."""
    match node:
        case ast.comprehension():
            yield from (_without("ifs", index) for index in range(len(node.ifs)))
        case ast.Dict():
            yield from (_without_key(index) for index in range(len(node.keys)))
        case ast.BoolOp() if not _is_empty(node.values[-1]):
            yield from (_without("values", index) for index in range(len(node.values)))
        case ast.MatchOr():
            yield from (_without("patterns", index) for index in range(len(node.patterns)))
        case ast.Tuple(ctx=ast.Load()) | ast.Set() if all(isinstance(one, ast.Constant) for one in node.elts):
            # a table; other tuples are often taken apart
            yield from (_without("elts", index) for index in range(len(node.elts)))


def _is_empty(node: ast.AST) -> bool:
    """What stands for null behind an `or`: no rule."""
    return ast.unparse(node) in ("''", "()", "[]", "{}", "0")


def _with_test(value: bool) -> Change:
    def change(node: ast.AST) -> ast.AST:
        assert isinstance(node, ast.If | ast.IfExp)
        node.test = ast.Constant(value)
        return node

    return change


def _without(field: str, index: int) -> Change:
    def change(node: ast.AST) -> ast.AST:
        left = getattr(node, field)
        del left[index]
        # one operand or pattern is no operation any more; a tuple may have one entry
        return left[0] if len(left) == 1 and field in ("values", "patterns") else node

    return change


def _without_key(index: int) -> Change:
    def change(node: ast.AST) -> ast.AST:
        assert isinstance(node, ast.Dict)
        del node.keys[index], node.values[index]
        return node

    return change


def _without_guard(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.match_case)
    node.guard = None
    return node


def _with_other_bound(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.Compare)
    node.ops[0] = _BOUNDS[type(node.ops[0])]()
    return node


def _short(node: ast.AST) -> str:
    """The first line of the code, or what is looped over or tested."""
    if isinstance(node, ast.comprehension):
        return " ".join([f"for {ast.unparse(node.target)}", *(f"if {ast.unparse(one)}" for one in node.ifs)])
    return ast.unparse(node).splitlines()[0]

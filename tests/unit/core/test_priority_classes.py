from __future__ import annotations

import orjson
import pytest

from controller.core.kubernetes.priority_classes import PriorityClass, default_of
from controller.kube.decode import decode_priority_class
from controller.kube.errors import UnreadableObject
from controller.kube.wire import Owned
from webhook.world.account_policies import PriorityClasses


def a_class(name: str, value: int = 0, *, is_default: bool = True) -> PriorityClass:
    return PriorityClass(name=name, value=value, is_default=is_default)


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        ([], ""),
        ([a_class("a", is_default=False)], ""),
        ([a_class("a", is_default=False), a_class("b")], "b"),
        ([a_class("a", 10), a_class("b", 5)], "b"),
        ([a_class("b", 5), a_class("a", 5)], "a"),
    ],
)
def test_the_default_is_the_one_of_the_lowest_value(classes: list[PriorityClass], expected: str) -> None:
    assert default_of(classes) == expected


def test_a_class_is_read_as_it_is_written() -> None:
    document = {"metadata": {"name": "gold"}, "value": 1000, "globalDefault": True, "description": "x"}
    assert decode_priority_class(orjson.dumps(document)) == a_class("gold", 1000)
    assert decode_priority_class(b'{"metadata": {"name": "a"}, "value": 1}') == a_class("a", 1, is_default=False)
    with pytest.raises(UnreadableObject, match="priorityclass"):
        decode_priority_class(b'{"metadata": 5}')


def test_the_default_follows_the_classes() -> None:
    known = PriorityClasses()
    known.replace([a_class("a", 1)])
    assert known.default == "a"
    known.upsert(a_class("b", 0))
    assert known.default == "b"
    known.remove(Owned(name="b"))
    assert known.default == "a"
    known.replace([])
    assert known.default == ""

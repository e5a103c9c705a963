"""The file that says who is told what: what is refused, with its place and no secrets, and where notices go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from controller.notifications.notices import Kind, Notice, workload_of
from controller.notifications.notices import admitted as an_admission
from controller.notifications.settings import Settings, SettingsError, read
from tests.support.notices import a_file, a_receiver, a_route, an_admitted_pod

URL = "https://hooks.example.com/T0/s3cret"


def faults(folder: Path, body: dict[str, Any] | str, **options: Any) -> list[str]:
    """What is said of a file, without its path."""
    file = a_file(folder, body)
    with pytest.raises(SettingsError) as error:
        read(file, **options)
    assert "s3cret" not in str(error.value)
    return [line.removeprefix(f"{file}: ") for line in str(error.value).splitlines()]


def with_receiver(**fields: Any) -> dict[str, Any]:
    return {"receivers": [a_receiver(**fields)], "routes": [a_route()]}


def with_route(**fields: Any) -> dict[str, Any]:
    return {"receivers": [a_receiver()], "routes": [a_route(**fields)]}


def settings(folder: Path, *routes: dict[str, Any], names: tuple[str, ...] = ("hook",)) -> Settings:
    return read(a_file(folder, {"receivers": [a_receiver(name) for name in names], "routes": list(routes)}))


def a_budget_notice(percent: int, *local_queues: tuple[str, str]) -> Notice:
    fields: dict[str, Any] = {"id": "b", "at": 0.0, "subject": "s", "data": {}, "text": "t"}
    return Notice(
        kind=Kind.BUDGET_USED,
        cluster_queue="team-a",
        local_queues=frozenset(local_queues),
        percent=percent,
        **fields,
    )


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("", "must be one object with receivers and routes, is 0 documents"),
        ("[1]", "must be one object with receivers and routes, is a list"),
        ("a: 1\n---\nb: 1\n", "must be one object with receivers and routes, is 2 documents"),
        ({"routes": [a_route()]}, "receivers: is required"),
        (
            with_receiver(url="ftp://hooks.example.com/s3cret"),
            'receivers[0].url: "(not shown)": must be a URL with http or https and a host, '
            "such as https://hooks.example.com/penstock",
        ),
        (
            with_receiver(url="https://ann:s3cret@example.com"),
            'receivers[0].url: "(not shown)": must not have a user or password; write them into headers, '
            "as Authorization",
        ),
        (
            with_receiver(url=f"{URL}#part"),
            'receivers[0].url: "(not shown)": must not have a part after #, which is never sent',
        ),
        (
            with_receiver(headers={"Authorization": "s3cret\r\nX: 1"}),
            'receivers[0].headers[Authorization]: "(not shown)": '
            "must be at most 8192 visible ASCII characters, spaces and tabs",
        ),
        (
            with_receiver(headers={"content-type": "s3cret"}),
            'receivers[0].headers[content-type]: "(not shown)": is set by Penstock itself; leave it out',
        ),
        (
            with_receiver(headers={"X-A": "s3cret", "x-a": "s3cret"}),
            'receivers[0].headers[x-a]: "(not shown)": stands here twice; names of headers do not differ by case',
        ),
        (
            with_receiver(header={"Authorization": "s3cret"}),
            'receivers[0].header: "(not shown)": is not a field that Penstock knows; remove it or correct its spelling',
        ),
        (with_receiver(format="Teams"), "receivers[0].format: \"Teams\": must be 'CloudEvents' or 'Slack'"),
        (with_route(events=[]), "routes[0].events: []: must not be empty"),
        (with_route(namespaces=[]), "routes[0].namespaces: []: must not be empty"),
        (
            with_route(localQueues=["main"]),
            'routes[0].localQueues[0]: "main": must be a LocalQueue as NAMESPACE/NAME, such as team-a/main',
        ),
        (with_route(namespaces=["Team"]), 'routes[0].namespaces[0]: "Team": must be the name of a namespace'),
        (
            with_route(budgetPercents=[80]),
            "routes[0].budgetPercents: [80]: must be given when events has BudgetUsed, and only then",
        ),
        (
            with_route(events=["BudgetUsed"]),
            "routes[0].budgetPercents: null: must be given when events has BudgetUsed, and only then",
        ),
        (
            with_route(events=["BudgetUsed"], budgetPercents=[0]),
            "routes[0].budgetPercents[0]: 0: must be at least 1",
        ),
        (
            {"receivers": [a_receiver(), a_receiver()], "routes": [a_route()]},
            'receivers[1].name: "hook": names a receiver a second time; name each once',
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, body: dict[str, Any] | str, told: str) -> None:
    assert faults(tmp_path, body) == [told]


def test_routes_and_receivers_have_to_meet(tmp_path: Path) -> None:
    assert faults(tmp_path, {"receivers": [a_receiver()], "routes": [a_route("other")]}) == [
        'routes[0].receivers[0]: "other": is no receiver of this file',
        'receivers[0].name: "hook": no route leads there; add one, or remove the receiver',
    ]


def test_nobody_is_late_without_forecasts(tmp_path: Path) -> None:
    body = with_route(events=["Admitted", "Late"])
    assert faults(tmp_path, body, has_forecasts=False) == [
        'routes[0].events[1]: "Late": needs forecasts of starts, and this controller makes none;'
        " let --forecast-percent be more than 0"
    ]
    assert read(a_file(tmp_path, body)).wants(Kind.LATE)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"none\.yaml: cannot be read: .*No such file"):
        read(tmp_path / "none.yaml")


def test_secrets_are_not_shown_by_what_was_read(tmp_path: Path) -> None:
    read_ = read(a_file(tmp_path, with_receiver(url=URL, headers={"Authorization": "Bearer s3cret"})))
    assert "s3cret" not in repr(read_)
    assert read_.receivers[0].plain_headers == {"Authorization": "Bearer s3cret"}


@pytest.mark.parametrize(
    ("route", "is_taken"),
    [
        ({}, True),
        ({"events": ["Evicted"]}, False),
        ({"namespaces": ["default"]}, True),
        ({"namespaces": ["team-b"]}, False),
        ({"localQueues": ["default/main"]}, True),
        ({"localQueues": ["default/other"]}, False),
        ({"clusterQueues": ["team-a"]}, True),
        ({"clusterQueues": ["team-b"], "namespaces": ["default"]}, False),
        ({"namespaces": ["team-b"], "localQueues": ["default/main"]}, False),
    ],
)
def test_all_that_a_route_names_has_to_agree(tmp_path: Path, route: dict[str, Any], is_taken: bool) -> None:
    pod = an_admitted_pod()
    found = settings(tmp_path, a_route(**route)).receivers_of(an_admission(workload_of(pod), [pod]))
    assert [one.name for one in found] == (["hook"] if is_taken else [])


def test_a_receiver_of_two_routes_is_told_once(tmp_path: Path) -> None:
    pod = an_admitted_pod()
    both = settings(tmp_path, a_route("a", "b"), a_route("b", namespaces=["default"]), names=("a", "b"))
    assert [one.name for one in both.receivers_of(an_admission(workload_of(pod), [pod]))] == ["a", "b"]


def test_a_chat_is_told_nothing_twice(tmp_path: Path) -> None:
    pod = an_admitted_pod()
    repeat = an_admission(workload_of(pod), [pod], is_repeat=True)
    body = {"receivers": [a_receiver(), a_receiver("chat", format="Slack")], "routes": [a_route("hook", "chat")]}
    found = read(a_file(tmp_path, body))
    assert [one.name for one in found.receivers_of(repeat)] == ["hook"]


def test_budgets_go_to_those_whose_queues_they_pay_for(tmp_path: Path) -> None:
    route = {"events": ["BudgetUsed"], "namespaces": ["research"]}
    found = settings(
        tmp_path,
        a_route("a", **route, budgetPercents=[80]),
        a_route("b", **route, budgetPercents=[100]),
        names=("a", "b"),
    )
    assert found.percents == {80, 100}

    def told(*local_queues: tuple[str, str]) -> list[str]:
        return [one.name for one in found.receivers_of(a_budget_notice(80, *local_queues))]

    assert told(("research", "main"), ("other", "main")) == ["a"]
    assert told(("other", "main")) == []
    assert told() == []

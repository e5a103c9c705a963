"""What the runner itself promises: faults of a scenario are told, and what goes otherwise than expected is noticed."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.scenarios.__main__ import main
from tests.scenarios.model import ScenarioError, load
from tests.scenarios.play import play, report

WORLD = """
title: A title
rule: A rule
world:
  flavors: {spot: {}}
  nodes: {one: {cpu: 2}}
  clusterQueues: {team-a: {quotas: {spot: {cpu: 1}}}}
steps:
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    return tmp_path / "scenario.yaml"


def write(file: Path, steps: str, world: str = WORLD) -> Path:
    file.write_text(world + textwrap.indent(textwrap.dedent(steps).strip(), "  "), encoding="utf-8")
    return file


def faults(file: Path) -> list[str]:
    return [fault for played in play(load(file)) for fault in played.faults]


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ("- {creat: {a: {cpu: 1}}, admitted: {}}", r"unknown field `creat` - at `\$.steps\[0\]`"),
        ("- create: {a: {cpu: 1}}", r"steps\[0\]: expects nothing"),
        ("- {why: nothing, admitted: {}}\n- why: nothing", r"steps\[1\]: expects nothing"),
        ("- {create: {a: {cpu: 1}, a: {cpu: 2}}, admitted: {}}", "'a' stands here twice"),
        ("- {restart: false, admitted: {}}", "restart: must be true"),
    ],
)
def test_a_scenario_that_is_not_well_written_is_refused(scenario: Path, steps: str, told: str) -> None:
    with pytest.raises(ScenarioError, match=told):
        load(write(scenario, steps))


def test_a_scenario_without_steps_or_rule_is_refused(scenario: Path) -> None:
    write(scenario, "[]", WORLD.replace("A rule", "''"))
    with pytest.raises(ScenarioError, match=r"(?s)rule: must say something.*steps: must hold at least one step"):
        load(scenario)


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ("- {create: {a: {cpus: 1}}, admitted: {}}", "step 1: pod a: .*unknown field `cpus`"),
        ("- {create: {a: {cpu: 0.5}}, admitted: {}}", "pod a: cpu: 0.5: must be an amount"),
        ("- {create: {a: {count: 0}}, admitted: {}}", "a.count: 0: must be"),
        ("- {create: {a: {requires: [zone is a]}}, admitted: {}}", "requires: 'zone is a': write key Operator"),
        ("- {create: {a: {namespace: other}}, admitted: {}}", "namespace other has 0 local queues"),
        ("- {create: {a: {}}, waiting: {a: Nonsense}}", "'Nonsense' is no reason; there are QuotaExceeded"),
        ("- {create: {a: {}}, admitted: {}}\n- {create: {a: {}}, admitted: {}}", "step 2: a: is there already"),
        ("- {nodes: {one: {taints: [spot]}}, admitted: {}}", "node one: taint 'spot': write"),
        ("- {nodes: {two: null}, admitted: {}}", "Node two: is not there"),
        ("- {clusterQueues: {x: null}, admitted: {}}", "ClusterQueue x: is not there"),
        ("- {clusterQueues: {team-a: {flavors: []}}, admitted: {}}", "write quotas or flavors, not both"),
        ("- {end: [nobody], admitted: {}}", "nobody: no pod and no group"),
        ("- {create: {a: {cpu: 1}}, admitted: {a: spot}}\n- {edit: {a: {cpu: 2}}, admitted: {}}", "a: is not queued"),
        ("- {create: {a: {cpu: 2}}, bind: {a: one}, admitted: {}}", "a: has gates"),
        ("- {accept: [a], admitted: {}}", "a: is not refused"),
        ("- {time: soon, admitted: {}}", "time: 'soon': write"),
        ("- {time: 2020-01-01T00:00:00Z, admitted: {}}", "it is 2026-03-02T08:00:00Z already"),
        ("- {usage: {team-a: {spot: {cpu: much}}}}", "usage.team-a.spot.cpu: 'much' is not a quantity"),
        ("- {status: {Node/one: {}}}", "status: Node/one: must begin with one of"),
        ("- {status: {ClusterQueue/x: {}}}", "status: ClusterQueue/x: is not there"),
    ],
)
def test_a_step_that_cannot_happen_is_a_fault_of_the_scenario(scenario: Path, steps: str, told: str) -> None:
    with pytest.raises(ScenarioError, match=told):
        faults(write(scenario, steps))


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ("- {create: {a: {cpu: 2}}, admitted: {a: spot}}", "a: expected to be admitted onto spot; it waits: NeverFits"),
        ("- {create: {a: {cpu: 1}}, admitted: {a: spott}}", "a: expected to be admitted onto spott; went onto spot on"),
        ("- {create: {a: {cpu: 1}}, admitted: {a: spot on two}}", "onto spot on two; went onto spot on one"),
        ("- {create: {a: {cpu: 1}}, admitted: {}}", "a: was admitted onto spot on one, which is not expected"),
        ("- {create: {a: {cpu: 2}}, admitted: {}}", "a: waits with NeverFits: .* that it waits is not expected"),
        ("- {create: {a: {cpu: 1}}, waiting: {a: Priority}}", "expected to wait with Priority; it does not wait"),
        ("- {create: {a: {cpu: 2}}, waiting: {a: Priority}}", r"(?s)wait with\s+Priority\s+waits with\s+NeverFits"),
        ("- {create: {a: {cpu: 2}}, waiting: {a: 'NeverFits: no'}}", r"(?s)wait with\s+NeverFits: no\s+waits"),
        ("- {create: {a: {}, b: {}}, admitted: {a: spot, b: spot}, order: [b, a]}", "expected b, a; was a, b"),
        ("- {create: {a: {}}, admitted: {a: spot}, usage: {team-a: {spot: {cpu: 1}}}}", "to use 1 cpu .* uses 0"),
        ("- {status: {ClusterQueue/team-a: {pending: 1}}}", "pending: expected 1; is 0"),
        ("- {status: {ClusterQueue/team-a: {conditions: {Active: 'False'}}}}", "expected 'False'; is 'True: Ready"),
        ("- {clusterQueues: {team-a: {stopPolicy: Never}}, waiting: {}}", 'team-a: invalid: spec.stopPolicy: "Never"'),
    ],
)
def test_what_goes_otherwise_than_expected_is_noticed(scenario: Path, steps: str, told: str) -> None:
    file = write(scenario, steps)
    written = load(file)
    first = next(played for played in play(written) if played.faults)
    with pytest.raises(AssertionError, match=told):
        raise AssertionError(report(written, first))


def test_an_object_that_is_announced_as_invalid_must_be(scenario: Path) -> None:
    world = WORLD.replace("world:", "invalid: {ClusterQueue/team-a: no reason}\nworld:")
    assert faults(write(scenario, "- waiting: {}", world)) == [
        "ClusterQueue/team-a: expected to be invalid; it is not",
    ]


def test_a_failure_says_which_scenario_and_step(scenario: Path) -> None:
    written = load(write(scenario, "- {waiting: {}}\n- {why: a reason, create: {a: {cpu: 2}}, admitted: {}}"))
    text = report(written, list(play(written))[1])
    assert text.startswith(f"A title\n{scenario}\nrule: A rule\nstep 2 (create) - a reason\n  - a: waits with")


def test_on_the_command_line_a_scenario_is_shown_step_by_step(
    scenario: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(write(scenario, "- {create: {a: {cpu: 1}, b: {cpu: 2}}, admitted: {a: spot}}"))]) == 1
    shown = capsys.readouterr().out
    assert "step 1 (create)\n  a is admitted onto spot on one\n  b waits: NeverFits: flavor spot: needs" in shown
    assert "NOT AS EXPECTED: b: waits with" in shown
    assert main([]) == 2
    assert main([str(write(scenario, "- {}"))]) == 2

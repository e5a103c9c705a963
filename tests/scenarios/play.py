"""Plays a scenario: the world, then step by step what happens and what comes of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from msgspec import UNSET

from controller.simulator.rest import RestlessError
from tests.scenarios.events import Stage
from tests.scenarios.expectations import Outcome, faults
from tests.scenarios.model import Objects, ScenarioError, Step, Written, attribute
from tests.scenarios.world import ShortcutDiffers

_WORLD = (
    "quotaResources",
    "time",
    "namespaces",
    "flavors",
    "priorityClasses",
    "clusterQueues",
    "localQueues",
    "nodes",
    "jobs",
    "podGroups",
    "foreign",
)


@dataclass(frozen=True, slots=True)
class Played:
    """One step as it went."""

    number: int
    step: Step
    events: list[str]
    outcome: Outcome
    faults: list[str]


def play(written: Written) -> Iterator[Played]:
    """Yield each step; the next one is played when it is asked for. Raises ScenarioError."""
    scenario, stage = written.scenario, Stage()
    _begin(stage, written)
    for number, (step, events) in enumerate(zip(scenario.steps, written.events, strict=True), start=1):
        try:
            for event in events:
                stage.happen(event, _value(step, event))
            outcome = Outcome(stage.cluster.settle(), stage.cluster.waits(), stage.cluster.evicted)
            found = faults(stage, step, outcome)
        except ScenarioError as error:
            raise ScenarioError(f"{written.file}: step {number}: {error}") from None
        except (RestlessError, ShortcutDiffers) as error:
            outcome, found = Outcome([], stage.cluster.waits(), {}), [str(error)]
        yield Played(
            number, step, events, outcome, found + _validity(stage, written, is_last=step is scenario.steps[-1])
        )


def undecided(written: Written) -> Iterator[Stage]:
    """Yield the stage before the decision of each step; it has to settle before the next one is asked for."""
    stage = Stage()
    _begin(stage, written)
    for step, events in zip(written.scenario.steps, written.events, strict=True):
        for event in events:
            stage.happen(event, _value(step, event))
        yield stage


def before(written: Written, number: int) -> Stage:
    """Play to where what happens in this step has happened and nothing was decided on it yet."""
    for at, stage in enumerate(undecided(written), start=1):
        if at == number:
            return stage
        stage.cluster.settle()
    raise ScenarioError(f"{written.file}: has no step {number}")


def _begin(stage: Stage, written: Written) -> None:
    """Set the world up; without namespaces there is `default`, without local queues one there for each queue."""
    world = written.scenario.world
    try:
        for event in _WORLD:
            value = _value(world, event)
            if value is UNSET and event == "namespaces":
                value = {"default": {}}
            elif value is UNSET and event == "localQueues":
                value = {} if world.cluster_queues is UNSET else {name: name for name in world.cluster_queues}
            if value is not UNSET:
                stage.happen(event, value)
    except ScenarioError as error:
        raise ScenarioError(f"{written.file}: world: {error}") from None


def _value(of: Objects, event: str) -> object:
    return getattr(of, attribute(event))


def _validity(stage: Stage, written: Written, *, is_last: bool) -> list[str]:
    """Objects that cannot be read must be announced, with the fault in the words that the user gets."""
    announced = written.scenario.invalid
    found = [f"{key}: invalid: {fault}" for key, fault in stage.faults.items() if announced.get(key) != fault]
    if is_last:
        found += [f"{key}: expected to be invalid; it is not" for key in announced if key not in stage.faults]
    return found


def report(written: Written, played: Played) -> str:
    """Say what a step came to and was not expected to, for people."""
    head = f"{written.scenario.title}\n{written.file}\nrule: {written.scenario.rule}\n"
    why = f" - {played.step.why}" if played.step.why else ""
    lines = "\n".join(f"  - {fault}" for fault in played.faults)
    return f"{head}step {played.number} ({', '.join(played.events) or 'nothing happens'}){why}\n{lines}"

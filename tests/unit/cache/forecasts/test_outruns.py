from __future__ import annotations

from dataclasses import replace

from controller.cache.forecasts.outruns import Outruns
from tests.support.builders import a_released_pod


def test_a_pod_is_held_to_the_least_that_it_has_said() -> None:
    turned: list[str] = []
    outruns, pod = Outruns(turned.append), a_released_pod("one", started=1000)
    outruns.advance(1000.0)
    outruns.put(pod, 600)
    # its annotation is edited, and then taken away
    outruns.put(pod, 360_000)
    outruns.put(pod, 0)
    outruns.advance(1749.0)
    assert (outruns.told, turned) == ({}, [])
    outruns.advance(1750.0)
    assert (outruns.told, turned) == ({"default": "default/one"}, ["default"])
    outruns.put(replace(pod, is_terminating=True), 600)
    assert outruns.told == {"default": "default/one"}
    outruns.drop(pod.uid)
    assert (outruns.told, turned) == ({}, ["default", "default"])
    outruns.put(pod, 360_000)
    assert outruns.told == {}


def test_another_pod_is_named_once_the_first_has_ended() -> None:
    turned: list[str] = []
    outruns = Outruns(turned.append)
    outruns.advance(5000.0)
    for name in ("one", "two"):
        outruns.put(a_released_pod(name, started=1000), 600)
    assert outruns.told == {"default": "default/one"}
    outruns.drop(a_released_pod("one").uid)
    assert (outruns.told, turned) == ({"default": "default/two"}, ["default"])
    outruns.clear()
    assert (outruns.told, turned) == ({}, ["default", "default"])

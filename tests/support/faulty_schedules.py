"""ClusterQueues with one fault in a share, a wait or a window of their schedule, for the table in `faulty_objects`."""

from __future__ import annotations

import json
from typing import Any

from controller.api.values import RESOURCE_NAME_MESSAGE
from tests.support.api_objects import Json, a_window, cluster_queue, quotas
from tests.support.faulty import Faulty

SHARE = 'must be 0% to 100% with at most two decimals, such as "40%" or "12.5%"'
CRON = (
    'must be a cron of five fields (minute, hour, day of the month, month, day of the week), such as "0 20 * * mon-fri"'
)
DURATION = 'must be a duration in hours, minutes and seconds, such as "8h", "90m" or "1h30m"'
RANGE = "must be more than 0s and at most 744h (31 days)"
CHANGES_NOTHING = "must change something: give nominalQuota, borrowingLimit or lendingLimit"
DRAINS_NOTHING = "onClose Drain goes only with flavors, limits or stopPolicy None: nothing else is too much afterwards"
LIMITS_NOTHING = "must limit something: give max or perUser"
BEHIND = "goes only with a flavor behind this one: the last has none to fall back to"
TIMEOUT = "goes only with spec.reservationTimeout: without one no reservation is overdue"
ZONE = 'must be an IANA time zone, such as "Europe/Berlin" or "UTC"'


def _share(value: str) -> Faulty:
    where = "spec.flavors[0].resources[0].nominalQuota"
    return Faulty(
        f"a share of {value}",
        cluster_queue(flavors=[quotas(cpu=value)]),
        f'{where}: "{value}": {SHARE}',
        f'{where}: Invalid value: "{value}": {SHARE}',
    )


def _queue(**window: Any) -> Json:
    return cluster_queue(schedule=[a_window(**window)])


def _cron(start: str, told: str) -> Faulty:
    return Faulty(
        f"a window that starts at {start!r}",
        _queue(start=start),
        f'spec.schedule[0].start: "{start}": {told}',
        f'spec.schedule[0].start: Invalid value: "{start}": {CRON}',
    )


def _duration(duration: str, told: str) -> Faulty:
    return Faulty(
        f"a window of {duration!r}",
        _queue(duration=duration),
        f'spec.schedule[0].duration: "{duration}": {told}',
        f'spec.schedule[0].duration: Invalid value: "{duration}": {told}',
    )


def _zone(name: str, refused: str = "") -> Faulty:
    return Faulty(
        f"a window in the zone {name!r}",
        _queue(timeZone=name),
        f'spec.schedule[0].timeZone: "{name}": {ZONE}',
        f"spec.schedule[0].timeZone: Invalid value: {refused or json.dumps(name) + ':'} {ZONE}",
    )


SCHEDULES: tuple[Faulty, ...] = (
    *map(_share, ("101%", "-5%", "12.345%", "100.01%", "lots%", " 40%")),
    _cron("", "must have five fields: minute, hour, day of the month, month and day of the week"),
    _cron("@daily", "must have five fields: minute, hour, day of the month, month and day of the week"),
    _cron("0 24 * * *", 'hour "24": must be 0 to 23'),
    _cron("*/0 * * * *", 'minute "*/0": a step must be at least 1'),
    _cron("0 8 * * mo", 'day of the week "mo": must be 0 to 7'),
    _cron(" 0 8 * * *", CRON),
    Faulty(
        "a window whose start is too long",
        _queue(start=f"{'1,' * 62}1 * * * *"),
        f'spec.schedule[0].start: "{"1," * 39}1…: must be at most 128 characters',
        "spec.schedule[0].start: Too long: may not be more than 128 bytes",
    ),
    *(_duration(text, DURATION) for text in ("", "8", "1.5h", "-1h", "1d", "30m1h")),
    *(_duration(text, RANGE) for text in ("0s", "0h0m", "744h1s", "99999h")),
    *map(_zone, ("", "+01:00", "Local")),
    _zone("Europe/Bern", '"string": unknown time zone Europe/Bern evaluating rule:'),
    Faulty(
        "an eviction of reservations that are never overdue",
        cluster_queue(onReservationTimeout="Evict"),
        f'spec.onReservationTimeout: "Evict": {TIMEOUT}',
        f"spec.onReservationTimeout: Invalid value: {TIMEOUT}",
    ),
    Faulty(
        "a reservation timeout that is none",
        cluster_queue(reservationTimeout="0s"),
        f'spec.reservationTimeout: "0s": {RANGE}',
        f'spec.reservationTimeout: Invalid value: "0s": {RANGE}',
    ),
    Faulty(
        "a wait before falling back that is none",
        cluster_queue(flavors=[{**quotas(), "fallbackAfter": "soon"}, quotas("on-demand")]),
        f'spec.flavors[0].fallbackAfter: "soon": {DURATION}',
        f'spec.flavors[0].fallbackAfter: Invalid value: "soon": {DURATION}',
    ),
    Faulty(
        "a wait before falling back to nothing",
        cluster_queue(flavors=[quotas("on-demand"), {**quotas(), "fallbackAfter": "10m"}]),
        f'spec.flavors[1].fallbackAfter: "10m": {BEHIND}',
        f"spec.flavors: Invalid value: fallbackAfter {BEHIND}",
    ),
    Faulty(
        "a window that overrides nothing",
        _queue(flavors=[]),
        'spec.schedule[0]: {"name": "night", "start": "0 20 * * *", "duration": "8h", "flavors": []}: must override '
        "something: give flavors, limits or stopPolicy",
        "spec.schedule[0]: Invalid value: must override something: give flavors, limits or stopPolicy",
    ),
    Faulty(
        "a window of a flavor that the queue does not have",
        _queue(flavors=[quotas("other")]),
        'spec.schedule[0].flavors[0].name: "other": must be a flavor that spec.flavors lists',
        "spec.schedule: Invalid value: the name of a window's flavor must be a flavor that spec.flavors lists",
    ),
    Faulty(
        "two windows of one name",
        cluster_queue(schedule=[a_window(), a_window()]),
        'spec.schedule[1].name: "night": names a window a second time; name each once',
        'spec.schedule[1]: Duplicate value: {"name":"night"}',
    ),
    Faulty(
        "a window that drains when nobody is too much",
        cluster_queue(
            schedule=[
                {"name": "night", "start": "0 20 * * *", "duration": "8h", "stopPolicy": "Hold", "onClose": "Drain"}
            ]
        ),
        'spec.schedule[0]: {"name": "night", "start": "0 20 * * *", "duration": "8h", "stopPolicy": "Hold",…: '
        f"{DRAINS_NOTHING}",
        f"spec.schedule[0]: Invalid value: {DRAINS_NOTHING}",
    ),
    Faulty(
        "a window that does something else when it closes",
        _queue(onClose="End"),
        "spec.schedule[0].onClose: \"End\": must be 'Keep' or 'Drain'",
        'spec.schedule[0].onClose: Unsupported value: "End": supported values: "Keep", "Drain"',
    ),
    Faulty(
        "a window with a quota of a flavor named twice",
        _queue(flavors=[quotas(), quotas()]),
        'spec.schedule[0].flavors[1].name: "spot": names a flavor a second time; name each once',
        'spec.schedule[0].flavors[1]: Duplicate value: {"name":"spot"}',
    ),
    Faulty(
        "a window that names a resource and changes nothing of it",
        _queue(flavors=[{"name": "spot", "resources": [{"name": "cpu"}]}]),
        f'spec.schedule[0].flavors[0].resources[0]: {{"name": "cpu"}}: {CHANGES_NOTHING}',
        f"spec.schedule[0].flavors[0].resources[0]: Invalid value: {CHANGES_NOTHING}",
    ),
    Faulty(
        "a window with a limit of the tree, in a queue without a parent",
        _queue(flavors=[{"name": "spot", "resources": [{"name": "cpu", "borrowingLimit": "10%"}]}]),
        'spec.schedule[0].flavors[0].resources[0].borrowingLimit: "10%": goes only with spec.parent: without one there '
        "is nobody to borrow from or lend to",
        "spec.schedule: Invalid value: borrowingLimit of a window goes only with spec.parent: without one there is "
        "nobody to borrow from or lend to",
    ),
    Faulty(
        "a window with a negative quota",
        _queue(flavors=[quotas(cpu="-1")]),
        'spec.schedule[0].flavors[0].resources[0].nominalQuota: "-1": must not be negative',
        'spec.schedule[0].flavors[0].resources[0].nominalQuota: Invalid value: "-1": must not be negative',
    ),
    Faulty(
        "a share of a limit of more than all",
        cluster_queue(limits=[{"name": "cpu", "max": "101%"}]),
        f'spec.limits[0].max: "101%": {SHARE}',
        f'spec.limits[0].max: Invalid value: "101%": {SHARE}',
    ),
    Faulty(
        "a share of each user that is none",
        cluster_queue(limits=[{"name": "cpu", "max": "40%", "perUser": "lots%"}]),
        f'spec.limits[0].perUser: "lots%": {SHARE}',
        f'spec.limits[0].perUser: Invalid value: "lots%": {SHARE}',
    ),
    Faulty(
        "a window that names a limit and changes nothing of it",
        _queue(limits=[{"name": "cpu"}]),
        f'spec.schedule[0].limits[0]: {{"name": "cpu"}}: {LIMITS_NOTHING}',
        f"spec.schedule[0].limits[0]: Invalid value: {LIMITS_NOTHING}",
    ),
    Faulty(
        "a window with a limit that is no amount",
        _queue(limits=[{"name": "cpu", "max": 8, "perUser": "-1"}]),
        'spec.schedule[0].limits[0].perUser: "-1": must not be negative',
        'spec.schedule[0].limits[0].perUser: Invalid value: "-1": must not be negative',
    ),
    Faulty(
        "a window with two limits on one resource",
        _queue(limits=[{"name": "cpu", "max": 8}, {"name": "cpu", "max": 9}]),
        'spec.schedule[0].limits[1].name: "cpu": names a resource a second time; name each once',
        'spec.schedule[0].limits[1]: Duplicate value: {"name":"cpu"}',
    ),
    Faulty(
        "a window with a limit on what cannot be a resource",
        _queue(limits=[{"name": "-cpu", "max": 8}]),
        f'spec.schedule[0].limits[0].name: "-cpu": {RESOURCE_NAME_MESSAGE}',
        f'spec.schedule[0].limits[0].name: Invalid value: "-cpu": {RESOURCE_NAME_MESSAGE}',
    ),
    Faulty(
        "a window without a start",
        cluster_queue(schedule=[{"name": "night", "duration": "8h", "stopPolicy": "Hold"}]),
        "spec.schedule[0].start: is required",
        "spec.schedule[0].start: Required value",
    ),
)

ONLY_TOLD_LATER: dict[str, tuple[Json, str]] = {
    "a cron that never comes": (
        _queue(start="0 0 31 2 *"),
        'spec.schedule[0].start: "0 0 31 2 *": never comes: no month of 2 has a day 31',
    ),
    "a range that ends before it begins": (
        _queue(start="0 22-6 * * *"),
        'spec.schedule[0].start: "0 22-6 * * *": hour "22-6": a range must not end before it begins; write two of them',
    ),
    "a window of a resource that the queue does not have": (
        _queue(flavors=[quotas(memory=1)]),
        'spec.schedule[0].flavors[0].resources[0].name: "memory": must be a resource that spec.flavors lists for this '
        "flavor",
    ),
}
"""Object and fault of what CEL cannot say, or not at a price that the apiserver allows."""

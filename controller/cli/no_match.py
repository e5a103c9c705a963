"""What people read where a filter leaves nothing of what there is: it is another thing than that there is nothing."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence

from controller.cli.counts import counted
from controller.core.reasons import first_few
from controller.extension_api.resources import HIDDEN


def nothing_matches(
    noun: str, there: int, place: str, filters: Mapping[str, str | Sequence[str] | None], hint: str = ""
) -> str:
    """Say that none of so many matches the options that were given; `place` is empty or ends `there are 3 pods`."""
    given = [f"{option} {one}" for option, value in filters.items() for one in _each(value)]
    kept = f"{counted(there, noun)} {place}".rstrip()
    return f"Nothing matches {' '.join(given)} of {kept}{hint or '.'}"


def known_instead(wanted: str | None, known: Iterable[str]) -> str:
    """Propose what may have been meant by the name of a queue or flavor; else list some that there are."""
    names = sorted(frozenset(known) - {"", HIDDEN})
    if wanted is None or wanted in names or not names:
        return ""
    similar = difflib.get_close_matches(wanted, names, n=1)
    return f"; did you mean {similar[0]}?" if similar else f": these are of {first_few(names)}."


def _each(value: str | Sequence[str] | None) -> Sequence[str]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else value

"""Tries every mutant: on pairs of pods or Jobs that the apiserver has judged, then by the unit and property tests.

The first that tells it from the original ends the trial.

Ends with code 1 when one survives that is not in `survivors.txt`, which says of each why no test can tell it from the
original, or when one of these is killed or gone.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from types import CodeType, ModuleType
from typing import Any

import click
import pytest
from hypothesis import Phase, settings

# nothing that is broken may be loaded here, since children load it broken; what they need beside it saves them time
from tests.differential import oracle
from tests.mutation.mutants import Mutant, mutants

_ROOT = Path(__file__).parents[2]
_SURVIVORS = Path(__file__).parent / "survivors.txt"
_UPDATE = "controller/core/pod_update"
_JOB_UPDATE = "controller/core/job_update"
_NARROWING = ("gate/narrowing.py", "kubernetes/labels.py")
_UPDATE_TESTS = (
    "tests/unit/core/test_pod_update.py",
    "tests/differential/test_agreement.py::test_our_table_of_fields_is_that_of_kubernetes",
)
_JOB_UPDATE_TESTS = ("tests/unit/core/test_job_update.py", "tests/unit/core/test_job_release.py")
_NARROWING_TESTS = (
    *("tests/unit/core/test_narrowing.py", "tests/unit/core/test_labels.py", "tests/unit/core/test_release_patch.py"),
    *("tests/property/pods/test_narrowing.py", "tests/property/pods/test_amounts_and_labels.py"),
)
_LOADED = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
"""Hypothesis is loaded before pytest, once for all."""
_PAIRS = 3000
_OF_JOBS = 12000
_SECONDS = 300
"""Nothing here takes so long, unless the mutant never ends."""

_judged: dict[str, list[Any]] = {}
"""Pairs of pods, and of Jobs, with the apiserver's verdict, the corpus first. Each child has them from its parent."""


@dataclass(frozen=True)
class Trial:
    """A mutant of a module, and the tests that must kill it. `pairs`: the judged pairs that are tried first."""

    module: str
    file: Path
    mutant: Mutant
    tests: tuple[str, ...]
    pairs: str

    @property
    def name(self) -> str:
        """As in survivors.txt."""
        return f"{self.module.removeprefix('controller.core.')} {self.mutant.what}"


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("only", nargs="?", default="", help="try the mutants with this text in their name (ONLY=)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="so many at a time (JOBS=)")
    arguments = parser.parse_args()
    only: str = arguments.only
    known = _known()
    trials = [trial for trial in _trials() if only in trial.name]
    # to see that a test fails is enough: no smaller example is looked for, and none is kept for the next mutant
    settings.register_profile("mutants", phases=(Phase.explicit, Phase.generate), derandomize=True, database=None)
    settings.load_profile("mutants")
    _judged.update(_in_child(_judge_pairs))
    click.echo(f"{len(trials)} mutants, {sum(map(len, _judged.values()))} judged pairs")
    survivors = []
    context = multiprocessing.get_context("fork")
    with context.Pool(arguments.jobs, maxtasksperchild=1) as pool:
        for name, has_survived in pool.imap_unordered(_try, _unbroken(trials)):
            if not has_survived:
                raise SystemExit(f"{name}: the tests fail, or cannot be run, even if nothing is broken")
        for number, (name, has_survived) in enumerate(pool.imap_unordered(_try, trials), 1):
            if has_survived:
                survivors.append(name)
                click.echo(f"{'survives as known' if name in known else 'SURVIVES'}: {name}")
            if number % 100 == 0:
                click.echo(f"{number} of {len(trials)} tried")
    new = [name for name in survivors if name not in known]
    stale = [name for name in known if only in name and name not in survivors]
    for name in stale:
        click.echo(f"in {_SURVIVORS.name}, but killed or gone: {name}")
    click.echo(
        f"{len(trials) - len(survivors)} killed, {len(survivors) - len(new)} survive as known, {len(new)} survive"
    )
    return 1 if new or stale else 0


def _known() -> list[str]:
    """Names of mutants that no test can kill; lines with # say why."""
    lines = _SURVIVORS.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("# ")]


def _trials() -> Iterator[Trial]:
    update = [(file, _UPDATE_TESTS, "pods") for file in sorted((_ROOT / _UPDATE).glob("*.py"))]
    jobs = [(file, _JOB_UPDATE_TESTS, "jobs") for file in sorted((_ROOT / _JOB_UPDATE).glob("*.py"))]
    narrowing = [(_ROOT / "controller/core" / name, _NARROWING_TESTS, "") for name in _NARROWING]
    for file, tests, asked in (*update, *jobs, *narrowing):
        module = ".".join(file.relative_to(_ROOT).with_suffix("").parts)
        for mutant in mutants(file.read_text(encoding="utf-8")):
            yield Trial(module, file, mutant, tests, asked)


def _unbroken(trials: Sequence[Trial]) -> Iterator[Trial]:
    """A module as it is, for each set of tests."""
    by_tests = {trial.tests: trial for trial in trials}
    for trial in by_tests.values():
        yield replace(trial, mutant=Mutant("unbroken", ast.parse(trial.file.read_text(encoding="utf-8"))))


def _in_child(function: Any) -> Any:
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(function)


def _judge_pairs() -> dict[str, list[Any]]:
    from tests.differential.corpus import cases
    from tests.differential.job_pairs import job_pairs
    from tests.differential.pairs import pairs

    known = [(case.old, case.new, case.verdict) for case in cases()]
    with oracle.Oracle(oracle.ensure()) as kubernetes:

        def judged(drawn: list[Any]) -> list[Any]:
            return [(*pair, verdict) for pair, verdict in zip(drawn, kubernetes.judge(drawn), strict=True)]

        pods = judged(list(pairs(Random(1), _PAIRS)))  # noqa: S311 - cases, not secrets
        jobs = judged(list(job_pairs(Random(1), _OF_JOBS)))  # noqa: S311 - cases, not secrets
    return {"pods": known + pods, "jobs": jobs}


def _try(trial: Trial) -> tuple[str, bool]:
    """Whether the mutant survives, in a process of its own."""
    sys.meta_path.insert(0, _Broken(trial))
    signal.signal(signal.SIGALRM, _end)
    signal.alarm(_SECONDS)
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        try:
            return trial.name, _survives(trial)
        except Exception:  # noqa: BLE001 - a broken module fails in any way
            return trial.name, False
        finally:
            signal.alarm(0)


def _end(number: int, frame: object) -> None:
    raise TimeoutError


def _survives(trial: Trial) -> bool:
    if trial.pairs:
        from tests.differential.agreement import our_verdict

        if any(our_verdict(old, new) != verdict for old, new, verdict in _judged[trial.pairs]):
            return False
    return pytest.main(["-x", "-q", "-p", "no:cacheprovider", *_LOADED, *trial.tests]) == 0


class _Broken(importlib.abc.MetaPathFinder):
    """Finds the module of a trial in its mutant."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Answer for that module alone."""
        if fullname != self._trial.module:
            return None
        loader = _Loader(fullname, str(self._trial.file))
        loader.code = compile(self._trial.mutant.tree, str(self._trial.file), "exec")
        return importlib.util.spec_from_file_location(fullname, self._trial.file, loader=loader)


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads code that is in no file."""

    code: CodeType

    def get_code(self, fullname: str) -> CodeType:
        """Return the mutant's code."""
        return self.code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)

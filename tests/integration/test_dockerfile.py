"""The steps of the Dockerfile, done in plain folders: what they build starts, without an engine for containers.

The interpreter is that of the tests instead of the base image's; the user and the file system are not checked here.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONTINUED = re.compile(r"\\\n\s*")

pytestmark = [pytest.mark.slow, pytest.mark.more, pytest.mark.timeout(1800)]


def instructions() -> list[tuple[str, str]]:
    """What the Dockerfile says, in order: an instruction and the rest of its line."""
    lines = CONTINUED.sub("", (ROOT / "Dockerfile").read_text("utf-8")).splitlines()
    found = [line.partition(" ") for line in lines if line and not line.startswith("#")]
    return [(name, rest) for name, _, rest in found]


def stage(name: str) -> list[tuple[str, str]]:
    """The instructions of the stage of this name; empty: of the last one."""
    starts = [number for number, (what, _) in enumerate(instructions()) if what == "FROM"]
    for start, end in zip(starts, [*starts[1:], len(instructions())], strict=True):
        if instructions()[start][1].partition(" AS ")[2] == name:
            return instructions()[start + 1 : end]
    raise AssertionError(f"no stage is called {name!r}")


class Folders:
    """A root folder in place of a stage's file system."""

    def __init__(self, root: Path) -> None:
        self.root, self.work = root, root
        # what `pip` without a path installs into: the base image's own environment
        subprocess.run([sys.executable, "-m", "venv", str(root / "base")], check=True)
        self._path = f"{root / 'base' / 'bin'}:{os.environ['PATH']}"

    def do(self, name: str, rest: str) -> None:
        """Follow an instruction. Raises AssertionError where this cannot, or a command fails."""
        match name:
            case "ARG":
                assert rest == "SOURCE_DATE_EPOCH"
            case "WORKDIR":
                self.work = self.root / rest.lstrip("/")
                self.work.mkdir(parents=True)
            case "COPY":
                self._copy(*shlex.split(rest))
            case "RUN":
                self._run(re.sub(r"(?<![\w.])/(opt|dist)\b", rf"{self.root}/\1", rest))
            case _:
                raise AssertionError(f"not known here: {name} {rest}")

    def _copy(self, *places: str) -> None:
        *sources, target = places
        for source in sources:
            found, into = ROOT / source, self.work / target
            if found.is_dir():
                left_out = shutil.ignore_patterns("__pycache__", "node_modules", "*.so")
                shutil.copytree(found, into, ignore=left_out, dirs_exist_ok=True)
            else:
                into.mkdir(parents=True, exist_ok=True)
                shutil.copy(found, into)

    def _run(self, command: str) -> None:
        # the settings of this machine, by which packages are found, but for those of the tests' own interpreter
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
        done = subprocess.run(
            ["/bin/sh", "-ec", command],
            cwd=self.work,
            env={**kept, "PATH": self._path, "SOURCE_DATE_EPOCH": "1700000000"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the last stage takes from the first."""
    folders = Folders(tmp_path_factory.mktemp("image"))
    for name, rest in stage("build"):
        folders.do(name, rest)
    assert ("COPY", "--from=build /opt/penstock /opt/penstock") in stage("")
    return folders.root / "opt" / "penstock"


def answer(built: Path, *arguments: str) -> str:
    """What Python of the image says, started anywhere."""
    command = [str(built / "bin" / "python"), *arguments]
    done = subprocess.run(command, cwd=built, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("program", ["controller", "webhook"])
def test_the_programs_of_the_image_start(built: Path, program: str) -> None:
    assert f"python -m {program}" in answer(built, "-m", program, "--help")


def test_the_decision_of_the_image_is_compiled(built: Path) -> None:
    code = "import controller.core.decision.decide as one; print(one.__file__)"
    assert answer(built, "-c", code).strip().endswith(".so")


def test_the_image_has_the_page(built: Path) -> None:
    code = "import controller.dashboard as one; print(one.__path__[0])"
    assert (Path(answer(built, "-c", code).strip()) / "static" / "index.html").exists()


def test_the_image_has_no_tools_to_build(built: Path) -> None:
    found = {one.name.partition("-")[0].lower() for one in (built / "lib").glob("python*/site-packages/*.dist-info")}
    assert "penstock" in found
    # setuptools is of every environment before Python 3.12: it says nothing about the steps
    assert found.isdisjoint({"hatchling", "mypy"})


def test_compiled_files_do_not_depend_on_the_time(built: Path) -> None:
    files = list((built / "lib").glob("python*/site-packages/**/*.pyc"))
    flags = {int.from_bytes(one.read_bytes()[4:8], "little") for one in files}  # PEP 552: bit 0, named by contents
    assert flags == {0b11}

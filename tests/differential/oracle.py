"""The program in `oracle/`: what the validation of Kubernetes itself says to an update of a pod.

`go.mod` there is of the Kubernetes that a sandbox runs by default, `kubernetes-<version>.mod` of another.
"""

from __future__ import annotations

import hashlib
import itertools
import platform
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson

from controller.sandbox import gobuild, toolchain
from controller.sandbox.layout import cache_folder
from controller.sandbox.progress import Progress
from controller.sandbox.versions import DEFAULT
from tests.support.kubernetes import VERSION

Json = dict[str, Any]
Pair = tuple[Json, Json]
Verdict = tuple[tuple[str, str], ...]
"""Field and cause of each fault, sorted and without doubles; none when the update is legal."""

MODULE = Path(__file__).parent / "oracle"


class Unjudged(str):
    """Why a pair has no verdict: it cannot be decoded, or the old pod is refused as it stands."""

    __slots__ = ()


def modfile(kubernetes: str = VERSION) -> str:
    """Name of the file that says which modules a version of Kubernetes needs."""
    return "go.mod" if kubernetes == DEFAULT else f"kubernetes-{kubernetes}.mod"


def ensure(kubernetes: str = VERSION) -> Path:
    """The program, built if this version of it never was; that takes seconds beside the sandbox's programs."""
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in sorted(MODULE.iterdir()))).hexdigest()[:8]
    system = f"{platform.system()}-{platform.machine()}".lower()
    folder = cache_folder() / f"oracle-{kubernetes}-{system}-{digest}"
    program = folder / "pod-update-oracle"
    if not program.exists():
        progress = Progress()
        with gobuild.one_builder(folder, progress):
            if not program.exists():
                go = toolchain.go(folder.parent, progress)
                gobuild.build(go, MODULE, ".", program, progress=progress, modfile=modfile(kubernetes))
    return program


class Oracle:
    """A running program. Ask it for many pairs at a time: it judges while the next ones are written."""

    def __init__(self, program: Path, environment: dict[str, str] | None = None) -> None:
        # a group of its own: Ctrl-C on a terminal is for us, who then end it
        self._child = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True
        )

    def __enter__(self) -> Oracle:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is not None:
            self._child.kill()
        self._child.communicate()

    def judge(self, pairs: Sequence[Pair]) -> list[Verdict | Unjudged]:
        """The verdict on each pair, in order. Neighbours that share their old pod are judged at half the cost."""
        grouped = [list(group) for _, group in itertools.groupby(pairs, key=lambda pair: id(pair[0]))]
        lines = [orjson.dumps({"old": group[0][0], "new": [new for _, new in group]}) for group in grouped]
        return [_verdict(answer) for answer in self._ask(lines, len(pairs))]

    def _ask(self, lines: Sequence[bytes], answers: int) -> Iterator[bytes]:
        stdin, stdout = self._child.stdin, self._child.stdout
        assert stdin is not None
        assert stdout is not None

        def write() -> None:
            stdin.writelines(line + b"\n" for line in lines)
            # the empty line asks for all answers now
            stdin.write(b"\n")
            stdin.flush()

        writer = threading.Thread(target=write, name="oracle-pairs", daemon=True)
        writer.start()
        for _ in range(answers):
            answer = stdout.readline()
            if not answer:
                raise RuntimeError(f"the oracle ended with code {self._child.wait()}")
            yield answer
        writer.join()


def _verdict(answer: bytes) -> Verdict | Unjudged:
    if answer.startswith(b"!"):
        return Unjudged(answer[1:].decode().strip())
    return tuple((field, cause) for field, cause in orjson.loads(answer))


if __name__ == "__main__":
    Progress().say(f"the oracle of the tests is {ensure()}")

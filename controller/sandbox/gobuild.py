"""Builds a program of a Go module, whole or not at all, one builder at a time. Which programs: the callers know.

Also finds the sources of a module, of which something else than a program is wanted.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from controller.sandbox import toolchain
from controller.sandbox.errors import SandboxError
from controller.sandbox.progress import Progress

_DRAFT = ".building-"
# CGO off: no C compiler is needed, and the programs run on any machine of this system
_SETTINGS = {"GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly", "GOWORK": "off", "CGO_ENABLED": "0"}


@contextmanager
def one_builder(cache: Path, progress: Progress) -> Iterator[None]:
    """Make the folder `cache` and be the only one who builds there; clears what a killed build left.

    Raises SandboxError when the folder cannot be written to.
    """
    try:
        cache.mkdir(parents=True, exist_ok=True)
        handle = os.open(cache / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                progress.say("another process builds the same programs; waiting for it")
                fcntl.flock(handle, fcntl.LOCK_EX)
            for remains in cache.glob(f"{_DRAFT}*"):
                shutil.rmtree(remains, ignore_errors=True)
            yield
        finally:
            os.close(handle)
    except OSError as error:
        where = error.filename or cache
        raise SandboxError(f"{where}: {error.strerror}; set XDG_CACHE_HOME to a folder you can write to") from error


def build(
    go: Path,
    module: Path,
    package: str,
    target: Path,
    *,
    progress: Progress,
    modfile: str = "go.mod",
    flags: Sequence[str] = (),
    count: str = "",
    remedy: str = "check the network and GOPROXY",
) -> None:
    """Build `package` of the module in folder `module` beside `target`, and move it there when it is whole.

    `modfile`: which file of that folder says the versions. `flags` are the linker's, `count` is shown behind the name.
    Raises SandboxError with the log's last line.
    """
    draft = target.with_name(f"{_DRAFT}{target.name}")
    draft.mkdir()
    log = target.with_name(f"{target.name}.build.log")
    arguments = [str(go), "build", "-trimpath", f"-modfile={modfile}", "-ldflags", " ".join(["-s", "-w", *flags])]
    arguments += ["-o", str(draft / target.name), package]
    try:
        environment = {**os.environ, **_SETTINGS}
        label = f"building {target.name}{count}"
        if progress.run(label, arguments, log=log, environment=environment, folder=module) != 0:
            reason = toolchain.last_line(log)
            raise SandboxError(f"{target.name} cannot be built: {reason}; {remedy} (log: {log})")
        (draft / target.name).rename(target)
        log.unlink()
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def download(go: Path, module: Path, wanted: str, folder: Path, *, progress: Progress, remedy: str) -> Path:
    """Return the folder with the sources of the Go module `wanted`, fetched if they never were.

    The module in folder `module` says its version and its checksum; what happens is logged in `folder`. Raises
    SandboxError.
    """
    log = folder / "download.log"
    arguments = [str(go), "mod", "download", "-json", wanted]
    environment = {**os.environ, **_SETTINGS}
    code = progress.run(f"fetching {wanted}", arguments, log=log, environment=environment, folder=module)
    text = log.read_text(errors="replace")
    # what Go says to people comes first
    answer = json.loads(text[text.index("{") :]) if "{" in text else {}
    if code != 0 or "Dir" not in answer:
        reason = answer.get("Error") or toolchain.last_line(log)
        raise SandboxError(f"{wanted} cannot be fetched: {reason}; {remedy} (log: {log})")
    log.unlink()
    return Path(answer["Dir"])

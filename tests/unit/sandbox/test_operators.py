"""Operators of other projects: what is built and taken for them. A made-up `go` stands in for the toolchain."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from controller.sandbox import SandboxError, binaries
from controller.sandbox.components import Ports, of_operators
from controller.sandbox.layout import Layout
from controller.sandbox.operator_builds import MODULES, ensure
from controller.sandbox.operators import NAMES, OPERATORS, chosen
from controller.sandbox.progress import Progress
from controller.sandbox.spec import Spec, check_spec

GO = """#!/bin/sh
if [ "$1" = env ]; then echo "go1.26.1"; exit 0; fi
if [ "$1" = mod ]; then
  echo "$@" >> "$GO_CALLS"
  echo "go: downloading $4" >&2
  case "$4" in *"$BREAKS"*) echo "{\\"Path\\": \\"$4\\", \\"Error\\": \\"no route to it\\"}"; exit 1;; esac
  echo "{\\"Path\\": \\"$4\\", \\"Dir\\": \\"$GO_SOURCES/$4\\"}"
  exit 0
fi
echo build >> "$GO_CALLS"
while [ "$1" != -o ]; do shift; done
echo built > "$2"; chmod +x "$2"
"""
CRD = """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
"""
ROLE = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: operates}\nrules: []\n"
LEADER = "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: elects}\n"


class Machine:
    """A user's machine with a cache, a `go`, and the sources of the operators' modules."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cache = folder / "cache" / "penstock" / "sandbox"
        self.calls = folder / "calls"
        self.calls.touch()
        self.sources = folder / "sources"
        (folder / "bin").mkdir()
        (folder / "bin" / "go").write_text(GO)
        (folder / "bin" / "go").chmod(0o755)
        self._monkeypatch = monkeypatch
        variables = {"XDG_CACHE_HOME": folder / "cache", "GO_CALLS": self.calls, "GO_SOURCES": self.sources}
        for name, value in variables.items():
            monkeypatch.setenv(name, str(value))
        monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")
        monkeypatch.setenv("BREAKS", "nothing")
        for operator in OPERATORS:
            self.ships(operator.module, operator.manifests, CRD, ROLE + LEADER)

    def ships(self, module: str, places: Sequence[str], crd: str, role: str) -> None:
        for place in places:
            path = self.sources / module / place
            file = path if path.suffix else path / "things.yaml"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(role if path.suffix else crd)

    def breaks(self, module: str) -> None:
        self._monkeypatch.setenv("BREAKS", module)

    def ensure(self, *names: str) -> tuple[Mapping[str, str], str]:
        stream = io.StringIO()
        return ensure(names, Progress(stream)), stream.getvalue()

    def requests(self, program: str) -> list[dict[str, Any]]:
        return list(orjson.loads(Path(f"{program}.json").read_bytes()))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def test_operators_are_built_once_with_progress(machine: Machine) -> None:
    found, shown = machine.ensure(*NAMES)
    assert set(found) == {"kuberay-operator", "training-operator"}
    assert all(os.access(path, os.X_OK) for path in found.values())
    assert "building training-operator (2 of 2): done after 0s" in shown
    assert "fetching github.com/ray-project/kuberay/ray-operator: done after 0s" in shown
    calls = machine.calls.read_text()
    assert machine.ensure(*NAMES) == (found, "")
    assert machine.calls.read_text() == calls


def test_each_operator_has_a_folder_that_others_do_not_change(machine: Machine) -> None:
    ray, _ = machine.ensure("ray")
    both, shown = machine.ensure("training", "ray")
    assert both["kuberay-operator"] == ray["kuberay-operator"]
    assert "kuberay" not in shown
    folders = {Path(path).parent.name for path in both.values()}
    assert len(folders) == 2
    assert not any("kubernetes" in name for name in folders)


def test_a_sandbox_without_operators_builds_none(machine: Machine) -> None:
    assert not set(binaries.ensure(Progress(io.StringIO()))) & {operator.program for operator in OPERATORS}
    assert not list(machine.cache.glob("kuberay*"))


def test_definitions_and_rights_come_from_the_module(machine: Machine) -> None:
    found, _ = machine.ensure("ray")
    requests = machine.requests(found["kuberay-operator"])
    assert [request["path"].partition("/v1/")[2] for request in requests] == [
        "customresourcedefinitions/things.example.com",
        "clusterroles/operates",
        "namespaces/ray-system",
        "namespaces/ray-system/serviceaccounts/kuberay-operator",
        "clusterrolebindings/kuberay-operator",
    ]
    binding = requests[-1]["body"]
    assert binding["roleRef"]["name"] == "operates"
    assert binding["subjects"] == [{"kind": "ServiceAccount", "namespace": "ray-system", "name": "kuberay-operator"}]


def test_a_module_that_cannot_be_fetched_is_one_line(machine: Machine) -> None:
    machine.breaks("training-operator")
    with pytest.raises(SandboxError) as caught:
        machine.ensure("training")
    assert "training-operator cannot be fetched: no route to it; check the network" in str(caught.value)
    assert "\n" not in str(caught.value)
    machine.breaks("nothing")
    assert set(machine.ensure("training")[0]) == {"training-operator"}


@pytest.mark.parametrize(("crd", "role"), [(LEADER, ROLE), (CRD, LEADER), (CRD, f"{ROLE}---\n{ROLE}")])
def test_a_module_without_what_is_needed_is_told(machine: Machine, crd: str, role: str) -> None:
    operator = OPERATORS[0]
    machine.ships(operator.module, operator.manifests, crd, role)
    with pytest.raises(SandboxError, match=r"config/rbac/role.yaml have no CRD, or not one ClusterRole"):
        machine.ensure("ray")


def test_an_unknown_operator_says_which_there_are() -> None:
    for ask in (lambda: chosen(["ray", "spark"]), lambda: check_spec(Spec(name="a", operators=("spark",)))):
        with pytest.raises(SandboxError, match="operator 'spark': a sandbox can run only ray and training"):
            ask()


def test_operators_listen_on_loopback_and_elect_no_leader(tmp_path: Path) -> None:
    programs = {operator.program: f"/bin/{operator.program}" for operator in OPERATORS}
    spec = Spec(name="a", operators=NAMES, binaries=programs)
    ports = Ports.free(operators=2)
    assert len({*ports.operators, ports.kwok}) == 3
    started = of_operators(spec, Layout(tmp_path), ports)
    assert [component.name for _, component in started] == list(programs)
    for (_, component), port in zip(started, ports.operators, strict=True):
        assert component.health_url == f"http://127.0.0.1:{port}/readyz"
        assert f"--health-probe-bind-address=127.0.0.1:{port}" in component.arguments
        assert f"--kubeconfig={tmp_path}/kubeconfigs/{component.name}" in component.arguments
    assert {"--enable-leader-election=false", "--metrics-addr=0"} <= set(started[0][1].arguments)
    assert of_operators(Spec(name="a", binaries=programs), Layout(tmp_path), Ports.free()) == []


@pytest.mark.parametrize("operator", OPERATORS, ids=NAMES)
def test_a_module_of_ours_has_the_version_it_is_named_after(operator: Any) -> None:
    lines = (MODULES / operator.folder / "go.mod").read_text().splitlines()
    wanted = [operator.module, f"v{operator.version}"]
    assert any(line.removeprefix("require").split()[:2] == wanted for line in lines)

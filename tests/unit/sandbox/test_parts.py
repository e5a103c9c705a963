"""The sandbox's parts that need no control plane: names, shapes, command lines, files, processes and progress."""

from __future__ import annotations

import io
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from controller.sandbox import NodeShape, SandboxError, certificates, components
from controller.sandbox.components import Ports, in_order
from controller.sandbox.files import write_private
from controller.sandbox.layout import Layout, cache_folder, sandboxes_folder
from controller.sandbox.nodes import check_shape
from controller.sandbox.process import ProcessId
from controller.sandbox.progress import Progress
from controller.sandbox.spec import Phase, Spec, State, check_name, check_spec, load_state, save_state
from controller.telemetry.authority import Authority, KeyPair

PROGRAMS = {
    name: f"/bin/{name}" for name in ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")
}
NOW = 1_800_000_000.0


@pytest.mark.parametrize("name", ["", "A", "-a", "a-", "a.b", "../a", "a" * 41, "a b", "a\n"])
def test_a_bad_name_is_refused(name: str) -> None:
    with pytest.raises(SandboxError, match="use at most 40"):
        check_name(name)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (Spec(name="a", feature_gates={"X": "yes"}), "X=yes: the value is true or false"),
        (Spec(name="a", feature_gates={"--x": "true"}), "feature gate '--x'"),
        (Spec(name="a", runtime_config={"a,b": "true"}), "runtime config 'a,b'"),
        (Spec(name="a", apiserver_flags={"-v": "4"}), "apiserver flag '-v'"),
        (Spec(name="a", kubernetes="1.35.0"), "Kubernetes '1.35.0': a sandbox runs only"),
    ],
)
def test_settings_that_are_no_flags_are_refused(spec: Spec, text: str) -> None:
    with pytest.raises(SandboxError, match=text):
        check_spec(spec)


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        (NodeShape(cpu="many"), "cpu of node shape 'node': 'many' is not a quantity"),
        (NodeShape(resources={"nvidia.com/gpu": "-1"}), "nvidia.com/gpu of node shape 'node'"),
        (NodeShape(resources={"bad name": "1"}), "resource 'bad name'"),
        (NodeShape(labels={"a b": "c"}), "label a b=c"),
        (NodeShape(labels={"a": "c=d"}), "label a=c=d"),
        (NodeShape(taints=("a=b",)), "taint 'a=b'"),
        (NodeShape(taints=("a=b:Never",)), "the effects are NoSchedule, PreferNoSchedule, NoExecute"),
        (NodeShape(name="A"), "'A'"),
    ],
)
def test_a_shape_the_apiserver_would_refuse_is_refused(shape: NodeShape, text: str) -> None:
    with pytest.raises(SandboxError, match=text):
        check_shape(shape)


def test_everything_listens_on_loopback_only(tmp_path: Path) -> None:
    steps = in_order(Spec(name="a", binaries=PROGRAMS), Layout(tmp_path), Ports.free())
    every = [component for step in steps for component in step]
    assert [component.name for component in every] == list(PROGRAMS)
    for component in every:
        assert "://127.0.0.1:" in component.health_url
        flags = [flag.partition("=") for flag in component.arguments]
        listening = [value for flag, _, value in flags if "address" in flag or "listen" in flag]
        assert listening
        assert all("127.0.0.1" in value for value in listening)


def test_settings_reach_the_components_they_are_for(tmp_path: Path) -> None:
    spec = Spec(
        name="a",
        binaries=PROGRAMS,
        audit=True,
        feature_gates={"B": "true", "A": "false"},
        runtime_config={"x/v1": "true"},
        apiserver_flags={"max-requests-inflight": "9"},
    )
    arguments = {
        component.name: component.arguments
        for step in in_order(spec, Layout(tmp_path), Ports.free())
        for component in step
    }
    gated = {name for name, flags in arguments.items() if "--feature-gates=A=false,B=true" in flags}
    assert gated == {"kube-apiserver", "kube-controller-manager", "kube-scheduler"}
    apiserver = arguments["kube-apiserver"]
    assert "--runtime-config=x/v1=true" in apiserver
    assert "--max-requests-inflight=9" in apiserver
    assert f"--audit-log-path={tmp_path}/logs/audit.log" in apiserver
    plain = in_order(Spec(name="a", binaries=PROGRAMS), Layout(tmp_path), Ports.free())[1][0].arguments
    assert not any("audit" in flag or "max-requests" in flag for flag in plain)


def test_the_stages_are_yaml_and_each_is_known() -> None:
    documents = [doc for path in components.STAGES.glob("*.yaml") for doc in yaml.safe_load_all(path.read_text())]
    assert {doc["metadata"]["name"] for doc in documents if doc["kind"] == "Stage"} == {
        "node-initialize",
        "node-heartbeat",
        "pod-ready",
        "pod-complete",
        "pod-terminate",
        "pod-delete",
    }


def test_keys_and_kubeconfigs_are_for_their_owner_only(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "one")
    certificates.write_certificates(layout, now=NOW)
    certificates.write_kubeconfigs(layout, "https://127.0.0.1:1")
    written = [path for path in layout.folder.rglob("*") if path.is_file()]
    assert len(written) > 10
    assert {stat.S_IMODE(path.stat().st_mode) for path in written} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in layout.folder.rglob("*") if path.is_dir()} == {0o700}
    kubeconfig = yaml.safe_load(layout.kubeconfig.read_text())
    assert kubeconfig["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:1"


def test_an_authority_read_back_signs_as_before() -> None:
    authority = Authority.create("ca", now=NOW, days=1)
    again = Authority.load(authority.pair)
    assert again.pair.certificate_pem == authority.pair.certificate_pem
    assert b"BEGIN CERTIFICATE" in again.client("user", ["group"], now=NOW, days=1).certificate_pem


def test_a_serving_certificate_needs_a_name() -> None:
    with pytest.raises(ValueError, match="at least one DNS name or IP address"):
        Authority.create("ca", now=NOW, days=1).serving([], now=NOW, days=1)


def test_a_key_of_another_kind_is_no_authority() -> None:
    pair = Authority.create("ca", now=NOW, days=1).pair
    with pytest.raises(ValueError, match=r"[Pp][Ee][Mm]"):
        Authority.load(KeyPair(pair.certificate_pem, b"no key"))


def test_a_private_file_is_replaced_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old, and open to all")
    path.chmod(0o644)
    write_private(path, b"new")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o600)
    assert list(tmp_path.iterdir()) == [path]


def test_folders_follow_xdg_and_ignore_relative_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert sandboxes_folder() == tmp_path / "penstock" / "sandboxes"
    assert cache_folder() == Path("/home/somebody/.cache/penstock/sandbox")


def test_a_state_is_read_back_and_rubbish_is_none(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    assert load_state(layout) is None
    state = State(name="a", phase=Phase.READY, supervisor=ProcessId.of(os.getpid()), started=NOW)
    save_state(layout, state)
    assert load_state(layout) == state
    layout.state.write_text("{")
    assert load_state(layout) is None


def test_a_recycled_pid_is_never_taken_for_the_old_process() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        real = ProcessId.of(child.pid)
        old = ProcessId(child.pid, "another birth")
        assert (real.alive(), old.alive()) == (True, False)
        old.send(signal.SIGKILL)
        assert child.poll() is None
        real.send(signal.SIGKILL)
        assert child.wait(10) == -signal.SIGKILL
    assert not real.alive()
    assert not ProcessId.of(child.pid).alive()


@pytest.mark.parametrize(
    ("live", "lines"), [(False, ["work ...", "work: done after 0s"]), (True, ["work: done after 0s"])]
)
def test_progress_is_lines_in_a_log_and_one_on_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, live: bool, lines: list[str]
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: live)
    code = Progress(stream).run("work", [sys.executable, "-c", ""], log=tmp_path / "log", environment={})
    assert code == 0
    # what a terminal still shows after each has been overwritten
    assert [line.rpartition("\r\x1b[K")[2] for line in stream.getvalue().strip("\n").split("\n")] == lines

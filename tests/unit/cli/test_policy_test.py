"""`penstock policy test`: what passes, what fails, and how that is told."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import orjson
import pytest
import yaml

from controller.cli.main import run
from controller.cli.policy import junit
from controller.cli.policy.expectations import Miss
from controller.cli.policy.suite_output import CaseResult, SuiteResult
from controller.core.keys import DEFAULT_QUEUE, DEFAULT_RUNTIME_CLASS, POLICIES
from tests.support.api_objects import Json, cluster_pod_policy, pod_policy
from tests.support.policy_commands import misses, the_tool
from tests.support.policy_files import SPOT, a_case, a_namespace, a_pod, a_suite, write

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


def test_the_sample_suite_passes(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = the_tool(capsys, ROOT / "config" / "samples" / "policy-tests")
    assert (code, err) == (0, "")
    assert "4 cases in 1 suite: 4 passed, 0 failed" in out


def test_suites_are_found_by_name_at_any_depth(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a_suite(tmp_path / "deep" / "er", name="one")
    a_suite(tmp_path / "b", name="two").rename(tmp_path / "b" / "gpu.policy-test.yaml")
    write(tmp_path / "other-test.yaml", {"not": "a suite"})
    code, out, _ = the_tool(capsys, tmp_path)
    assert code == 0
    assert "2 cases in 2 suites: 2 passed, 0 failed" in out
    assert "1 case in 1 suite" in the_tool(capsys, tmp_path / "b" / "gpu.policy-test.yaml")[1]


def test_a_folder_without_suites_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = the_tool(capsys, tmp_path)
    assert (code, err) == (0, "")
    assert out == f"No policy tests in {tmp_path}: a suite is a file named policy-test.yaml or NAME.policy-test.yaml.\n"
    code, out, err = the_tool(capsys, tmp_path, "--require-tests")
    assert (code, out) == (2, "")
    assert (
        err == f"Error: {tmp_path}: holds no suite, which is a file named policy-test.yaml or NAME.policy-test.yaml\n"
    )


PARTS: list[tuple[Json, list[str]]] = [
    ({"pod": {"spec": {"nodeSelector": {"pool": "batch"}}}}, []),
    (
        {"pod": {"spec": {"nodeSelector": {"pool": "web", "zone": "a"}, "nodeName": "n"}}},
        [
            "spec.nodeSelector[pool]: expected web, got batch",
            "spec.nodeSelector[zone]: expected a, got nothing",
            "spec.nodeName: expected n, got nothing",
        ],
    ),
    ({"pod": {"spec": {"tolerations": [SPOT]}}}, ["spec.tolerations: expected [{key: spot, operator: Exists, effect"]),
    ({"pod": {"spec": {"affinity": None, "schedulingGates": [], "overhead": {}}}, "contains": {}}, []),
    (
        {"pod": {"spec": {"nodeSelector": {}, "tolerations": None}}, "contains": {"spec": {"tolerations": []}}},
        [
            "spec.nodeSelector: expected nothing, got {pool: batch}",
            "spec.tolerations: expected nothing, got [{key",
            "spec.tolerations: expected nothing, got [{key",
        ],
    ),
    ({"contains": {"spec": {"tolerations": [SPOT, {"key": "node.kubernetes.io/not-ready"}]}}}, []),
    (
        {"contains": {"spec": {"tolerations": [{"key": "spot", "effect": "NoExecute"}]}}},
        ["spec.tolerations: expected an entry {key: spot, effect: NoExecute}, got [{key: node.kubernetes.io/not-ready"],
    ),
    ({"absent": ["spec.nodeSelector.zone", "spec.tolerations[3]", "spec.affinity.nodeAffinity"]}, []),
    (
        {"absent": ["spec.nodeSelector[pool]", "spec.tolerations[2].key", f"metadata.annotations[{POLICIES}]"]},
        [
            "spec.nodeSelector[pool]: expected nothing, got batch",
            "spec.tolerations[2].key: expected nothing, got spot",
            f"metadata.annotations[{POLICIES}]: expected nothing, got batch",
        ],
    ),
    ({"policies": ["batch"], "warnings": []}, []),
    ({"policies": ["other", "batch"]}, ["policies: expected 'other', 'batch', got 'batch'"]),
    ({"policies": []}, ["policies: expected none, got 'batch'"]),
    ({"warnings": ["left out"]}, ["warnings: expected 'left out', got none"]),
]


@pytest.mark.parametrize(("expect", "lines"), PARTS)
def test_a_changed_pod_is_compared_place_by_place(
    expect: Json, lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a_suite(tmp_path, a_case(**expect))
    found = misses(capsys, tmp_path)
    assert len(found) == len(lines), found
    for line, beginning in zip(found, lines, strict=True):
        assert line.startswith(beginning)


def test_the_three_results_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refusing = cluster_pod_policy("strict", nodeSelector={"pool": "batch"}, onConflict="Reject")
    cases = (
        a_case("as it is", a_pod(nodeSelector={"pool": "batch"}), "allowed"),
        a_case("changed", result="changed"),
        a_case("refused", a_pod(nodeSelector={"pool": "web"}), "refused", message="spec.nodeSelector[pool] is 'web'"),
    )
    a_suite(tmp_path, *cases, objects=(refusing,))
    assert misses(capsys, tmp_path) == []
    wrong = [a_case(str(number), case["pod"], "refused") for number, case in enumerate(cases[:2])]
    wrong.append(a_case("3", cases[2]["pod"], "refused", message="quota"))
    wrong.append(a_case("4", cases[2]["pod"], "allowed", pod={"spec": {"nodeName": "n"}}))
    a_suite(tmp_path, *wrong, objects=(refusing,))
    found = misses(capsys, tmp_path)
    refusal = "ClusterPodSchedulingPolicy 'strict' refuses the pod: spec.nodeSelector[pool] is 'web', not 'batch'"
    assert found[:2] == ["result: expected refused, got allowed", "result: expected refused, got changed"]
    assert found[2].startswith(f"message: expected 'quota', got \"{refusal}")
    assert found[3].startswith(f"result: expected allowed, got refused: {refusal}")
    assert len(found) == 4


def test_every_warning_has_to_be_expected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    warning = cluster_pod_policy("told", nodeSelector={"zone": "a"}, mode="Warn")
    a_suite(
        tmp_path,
        a_case("all", result="allowed", warnings=["would set nodeSelector"]),
        a_case("none", result="allowed", warnings=[]),
        a_case("not asked", result="allowed"),
        objects=(warning,),
    )
    text = "ClusterPodSchedulingPolicy 'told' (mode Warn) would set nodeSelector"
    assert misses(capsys, tmp_path) == [f'warnings: expected no other, got "{text}"']


def test_labels_of_namespaces_and_the_creator_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = cluster_pod_policy(
        "gold", namespaceSelector={"matchLabels": {"tier": "gold"}}, nodeSelector={"pool": "gold"}
    )
    by_name = cluster_pod_policy(
        "named", namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": "plain"}}, nodeSelector={"a": "b"}
    )
    queueing = a_namespace("queueing", **{DEFAULT_QUEUE: "main"})
    template = {"spec": a_pod()["spec"]}
    daemons = {"apiVersion": "apps/v1", "kind": "DaemonSet", "spec": {"selector": {}, "template": template}}
    mirror = {"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}, "spec": {"nodeName": "n"}}
    a_suite(
        tmp_path,
        a_case("a", namespace="gold", policies=["gold"]),
        a_case("b", namespace="plain", policies=["named"]),
        a_case("c", namespace="unheard-of", result="allowed"),
        a_case("d", a_pod(namespace="gold"), policies=["gold"]),
        a_case("e", namespace="queueing", policies=[], warnings=["LocalQueue 'main' does not exist"]),
        a_case("f", mirror, "allowed", namespace="gold", user="system:node:n", groups=["system:nodes"]),
        a_case("g", mirror, "changed", namespace="gold", user="jane"),
        a_case("h", result="allowed", namespace="kube-system"),
        a_case("i", daemons, "allowed", namespace="queueing"),
        a_case("j", daemons, "changed", namespace="queueing", user="jane"),
        objects=(a_namespace("gold", tier="gold"), a_namespace("plain"), queueing, policy, by_name),
    )
    assert misses(capsys, tmp_path) == []


def test_the_pod_can_stand_in_a_file_and_be_a_workloads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = pod_policy("own", podSelector={"matchLabels": {"app": "web"}}, nodeSelector={"a": "b"})
    template = {"metadata": {"labels": {"app": "web"}}, "spec": a_pod()["spec"]}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    write(tmp_path / "pods" / "web.yaml", {"apiVersion": "v1", "kind": "Service"}, {**deployment, "spec": spec})
    write(tmp_path / "pods" / "pod.yaml", a_pod(labels={"app": "web"}))
    case = a_case("both", "pods/web.yaml", policies=["default/own"])
    a_suite(tmp_path, case, {**case, "name": "again", "pod": "pods/pod.yaml"}, objects=(own,))
    assert misses(capsys, tmp_path) == []


def test_runtime_classes_are_judged_as_the_webhooks_options_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kata: Json = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "kata"}, "handler": "k"}
    kata["scheduling"] = {"nodeSelector": {"runtime": "kata"}, "tolerations": [SPOT]}
    labelled = a_namespace("labelled", **{DEFAULT_RUNTIME_CLASS: "kata"})
    selected: Json = {"pod": {"spec": {"runtimeClassName": "kata", "nodeSelector": {"runtime": "kata"}}}}
    named = a_pod(runtimeClassName="kata")
    contradicting = a_pod(runtimeClassName="kata", nodeSelector={"runtime": "runc"})
    # what a class demands the apiserver has added before: that is no change by the webhook
    always = (
        a_case("named", named, "allowed", **selected),
        a_case("contradicting", contradicting, "refused", message="RuntimeClass 'kata' demands"),
        a_case("absent", a_pod(runtimeClassName="absent"), "allowed"),
    )
    a_suite(tmp_path / "off", *always, a_case("off", namespace="labelled", result="allowed"), objects=(kata, labelled))
    assert misses(capsys, tmp_path / "off") == []
    on = (*always[:2], a_case("on", namespace="labelled", **selected), a_case("no default", result="allowed"))
    settings: Json = {"runtimeClasses": True}
    a_suite(tmp_path / "on", *on, objects=(kata, labelled), settings=settings)
    assert misses(capsys, tmp_path / "on") == []
    cases = (a_case("default", **selected), a_case("missing", a_pod(runtimeClassName="absent"), "refused"))
    a_suite(tmp_path / "all", *cases, objects=(kata,), settings={"defaultRuntimeClass": "kata"})
    assert misses(capsys, tmp_path / "all") == []


def test_what_the_apiserver_adds_first_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 7}
    usual = {**high, "metadata": {"name": "usual"}, "value": 3, "globalDefault": True, "preemptionPolicy": "Never"}
    other = {**usual, "metadata": {"name": "other"}, "value": 4}
    seconds = [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 5}]
    default = {"schedulerName": "default-scheduler", "serviceAccountName": "default"}
    a_suite(
        tmp_path,
        a_case(
            "usual", pod={"spec": {**default, "priority": 3, "priorityClassName": "usual", "preemptionPolicy": "Never"}}
        ),
        a_case("high", a_pod(priorityClassName="high"), pod={"spec": {"priority": 7}}),
        a_case("system", a_pod(priorityClassName="system-node-critical"), pod={"spec": {"priority": 2000001000}}),
        a_case("unknown", a_pod(priorityClassName="absent"), absent=["spec.priority"]),
        a_case(
            "own seconds",
            a_pod(tolerations=seconds),
            contains={"spec": {"tolerations": [seconds[0], {"key": "node.kubernetes.io/unreachable"}]}},
            absent=["spec.tolerations[3]"],
        ),
        objects=(cluster_pod_policy(nodeSelector={"a": "b"}), high, usual, other),
    )
    assert misses(capsys, tmp_path) == []


def test_a_suite_may_take_a_folder_with_other_things_in_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a_suite(tmp_path, objects=(cluster_pod_policy(nodeSelector={"a": "b"}),))
    write(tmp_path / "other.yaml", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}})
    document = yaml.safe_load((tmp_path / "policy-test.yaml").read_text())
    write(tmp_path / "policy-test.yaml", {**document, "objects": ["."]})
    assert misses(capsys, tmp_path) == []


def test_fail_only_lists_failed_cases_and_counts_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a_suite(tmp_path, a_case("good one"), a_case("bad [red]one", policies=[]))
    code, out, _ = the_tool(capsys, tmp_path, "--fail-only")
    assert code == 1
    assert "good one" not in out
    assert "bad [red]one" in out
    assert f"{tmp_path / 'policy-test.yaml'}: batch: bad [red]one" in out
    assert "  policies: expected none, got 'batch'" in out
    assert "2 cases in 1 suite: 1 passed, 1 failed" in out
    assert "good one" in the_tool(capsys, tmp_path)[1]
    document = orjson.loads(the_tool(capsys, tmp_path, "--fail-only", "-o", "json")[1])
    assert [case["name"] for case in document["suites"][0]["cases"]] == ["bad [red]one"]
    assert (document["cases"], document["passed"], document["failed"]) == (2, 1, 1)


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)
def test_colours_are_for_terminals_and_not_for_who_wants_none(
    environment: dict[str, str],
    coloured: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TERM", "xterm")
    a_suite(tmp_path, a_case(), a_case("bad", policies=[]))
    assert ("\x1b[3" in the_tool(capsys, tmp_path)[1]) is coloured


def test_junit_has_every_case_with_what_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a_suite(tmp_path, a_case("good"), a_case('a <b> & "c" ü', policies=[], warnings=["<x>"]))
    file = tmp_path / "report.xml"
    file.write_text("old")
    assert the_tool(capsys, tmp_path, "--junit", str(file))[0] == 1
    root = ElementTree.parse(file).getroot()  # noqa: S314 - our own
    assert (root.tag, root.attrib["tests"], root.attrib["failures"], root.attrib["errors"]) == (
        "testsuites",
        "2",
        "1",
        "0",
    )
    (suite,) = root
    assert (suite.tag, suite.attrib["name"], suite.attrib["tests"], suite.attrib["skipped"]) == (
        "testsuite",
        "batch",
        "2",
        "0",
    )
    good, bad = suite
    assert (good.tag, good.attrib["name"], good.attrib["classname"], len(good)) == ("testcase", "good", "batch", 0)
    assert float(good.attrib["time"]) >= 0
    assert bad.attrib["name"] == 'a <b> & "c" ü'
    (failure,) = bad
    assert failure.tag == "failure"
    assert failure.attrib["message"] == "warnings: expected '<x>', got none"
    assert (failure.text or "").splitlines() == [
        "warnings: expected '<x>', got none",
        "policies: expected none, got 'batch'",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["objects.yaml", "policy-test.yaml", "report.xml"]


def test_junit_holds_no_character_that_xml_forbids() -> None:
    odd = "a\x00\x1b[31m\x0b\ufffe\ud800b"
    result = SuiteResult(odd, Path("x"), (CaseResult(odd, (Miss(odd, odd, odd),), 0.0),))
    root = ElementTree.fromstring(junit.render([result]))  # noqa: S314 - our own
    clean = "a\ufffd\ufffd[31m\ufffd\ufffd\ufffdb"
    assert root[0].attrib["name"] == clean
    assert root[0][0][0].text == f"{clean}: expected {clean}, got {clean}"


def test_a_report_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    a_suite(tmp_path)
    code, _, err = the_tool(capsys, tmp_path, "--junit", str(tmp_path / "absent" / "x.xml"))
    assert code == 2
    assert err == f"Error: --junit {tmp_path / 'absent' / 'x.xml'}: cannot be written: No such file or directory\n"

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    file = tmp_path / "report.xml"
    file.write_text("old")
    assert "No space left on device" in the_tool(capsys, tmp_path, "--junit", str(file))[2]
    assert file.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["objects.yaml", "policy-test.yaml", "report.xml"]


def test_the_same_files_are_read_once_for_many_cases(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "pod.yaml", a_pod())
    a_suite(tmp_path, *(a_case(str(number), "pod.yaml") for number in range(50)))
    reads: list[Path] = []
    original = Path.read_text

    def counted(self: Path, *arguments: Any, **options: Any) -> str:
        reads.append(self)
        return original(self, *arguments, **options)

    monkeypatch.setattr(Path, "read_text", counted)
    assert the_tool(capsys, tmp_path)[0] == 0
    assert len(reads) == 3


@pytest.mark.parametrize("path", [["policy"], ["policy", "test"], ["policy", "explain"], ["policy", "report"]])
def test_help_has_an_example(path: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*path, "--help"]) == 0
    assert "Example:\n" in capsys.readouterr().out

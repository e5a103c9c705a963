"""`penstock policy report`: which pods would not stay as they are, counted, bounded, and told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from controller.cli.main import run
from tests.support.api_objects import Json, cluster_pod_policy, pod_policy
from tests.support.pod_update_rules import REQUIRED
from tests.support.policy_files import SPOT, a_namespace, a_pod, write

STRICT = cluster_pod_policy("strict", nodeSelector={"pool": "a"}, onConflict="Reject", mode="Audit")
TOLD = pod_policy("told", "team-a", tolerations=[SPOT], nodeSelector={"disk": "ssd"}, mode="Warn")


class Tool:
    """The command in a folder of its own."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def __call__(self, *objects: Any, arguments: tuple[str, ...] = ()) -> tuple[int, str, str]:
        file = write(self.folder / "objects.yaml", *objects)
        code = run(["policy", "report", "--objects", str(file), *arguments])
        out, err = self._capsys.readouterr()
        return code, out, err

    def answer(self, *objects: Json, arguments: tuple[str, ...] = ()) -> Json:
        code, out, err = self(*objects, arguments=("-o", "json", *arguments))
        assert (code, err) == (0, "")
        return dict(orjson.loads(out))


@pytest.fixture
def tool(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tool:
    monkeypatch.setenv("COLUMNS", "160")
    return Tool(tmp_path, capsys)


def a_live_pod(name: str, namespace: str = "team-a", *, status: Json | None = None, **spec: Any) -> Json:
    scheduled = {"conditions": [{"type": "PodScheduled", "status": "True"}], "phase": "Running"}
    return {**a_pod(name, namespace=namespace, **{"nodeName": "n1", **spec}), "status": {**scheduled, **(status or {})}}


PODS = (
    a_live_pod("refused", nodeSelector={"pool": "b"}),
    a_live_pod("changed", nodeSelector={"pool": "a"}),
    a_live_pod("left-out", nodeSelector={"pool": "a", "disk": "hdd"}, tolerations=[SPOT]),
    a_live_pod("as-it-is", nodeSelector={"pool": "a", "disk": "ssd"}, tolerations=[SPOT]),
    a_live_pod("elsewhere", "team-b", nodeSelector={"pool": "a"}),
)


def test_pods_are_judged_as_if_every_policy_were_enforced(tool: Tool) -> None:
    answer = tool.answer(STRICT, TOLD, *PODS)
    assert answer["pods"] == {
        "judged": 5,
        "refused": 1,
        "changed": 1,
        "conflict": 1,
        "unchanged": 2,
        "leftOut": {"finished": 0, "being deleted": 0, "not shown to the webhook": 0, "not readable": 0},
    }
    assert answer["policies"] == [
        {"policy": "strict", "mode": "Audit", "selected": 5, "refused": 1, "changed": 0, "conflict": 0, "unchanged": 4},
        {
            "policy": "team-a/told",
            "mode": "Warn",
            "selected": 3,
            "refused": 0,
            "changed": 1,
            "conflict": 1,
            "unchanged": 1,
        },
    ]
    assert [(one["name"], one["result"], one["reasons"]) for one in answer["findings"]] == [
        (
            "refused",
            "refused",
            [{"policy": "strict", "message": "spec.nodeSelector[pool] is 'b', not 'a'"}],
        ),
        (
            "changed",
            "changed",
            [{"policy": "team-a/told", "message": "sets nodeSelector, tolerations"}],
        ),
        (
            "left-out",
            "conflict",
            [{"policy": "team-a/told", "message": "leaves out: spec.nodeSelector[disk] is 'hdd', not 'ssd'"}],
        ),
    ]
    assert (answer["unlisted"], answer["notInEffect"]) == (0, [])


def test_a_namespace_alone_is_judged_where_one_is_named(tool: Tool) -> None:
    answer = tool.answer(STRICT, TOLD, *PODS, arguments=("-n", "team-b"))
    assert (answer["pods"]["judged"], [one["policy"] for one in answer["policies"]]) == (1, ["strict"])


def test_pods_that_are_done_or_nobodys_business_are_left_out(tool: Tool) -> None:
    gone = a_live_pod("gone")
    gone["metadata"]["deletionTimestamp"] = "2026-03-01T08:00:00Z"
    mirror = a_live_pod("mirror")
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    pods = (
        a_live_pod("a", status={"phase": "Succeeded"}),
        a_live_pod("b", status={"phase": "Failed"}),
        gone,
        a_live_pod("system", "kube-system"),
        a_live_pod("odd", affinity={"nodeAffinity": {}}, tolerations=None),
        mirror,
    )
    answer = tool.answer(cluster_pod_policy(nodeSelector={"a": "b"}), *pods)
    assert answer["pods"]["leftOut"] == {
        "finished": 2,
        "being deleted": 1,
        "not shown to the webhook": 1,
        "not readable": 0,
    }
    assert [one["name"] for one in answer["findings"]] == ["odd"]
    assert answer["pods"]["unchanged"] == 1


def test_the_schedulers_node_is_no_conflict_and_a_wanted_one_is(tool: Tool) -> None:
    policy = cluster_pod_policy(nodeName="n2", onConflict="Reject")
    managed = [{"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {"f:nodeName": {}}}}]
    asked = a_live_pod("asked")
    asked["metadata"]["managedFields"] = managed
    answer = tool.answer(policy, a_live_pod("scheduled"), asked, a_pod("written", namespace="x", nodeName="n1"))
    assert {one["name"]: one["result"] for one in answer["findings"]} == {
        "scheduled": "changed",
        "asked": "refused",
        "written": "refused",
    }
    assert tool.answer(policy, a_live_pod("there", nodeName="n2"))["findings"] == []
    apart = cluster_pod_policy(nodeName="n1", podSelector={"matchLabels": {"a": "b"}})
    assert tool.answer(policy, {**apart, "metadata": {"name": "apart"}}, a_live_pod("x"))["pods"]["refused"] == 0


def test_the_first_refusal_ends_the_judging_of_a_pod(tool: Tool) -> None:
    second = cluster_pod_policy("zz", nodeSelector={"zone": "x"})
    answer = tool.answer(STRICT, second, PODS[0])
    assert [(one["policy"], one["selected"]) for one in answer["policies"]] == [("strict", 1), ("zz", 0)]


def test_lists_are_bounded_and_counts_are_not(tool: Tool) -> None:
    pods = [a_live_pod(f"pod-{number}", nodeSelector={"pool": "b" if number < 30 else "a"}) for number in range(60)]
    objects = (STRICT, TOLD, *pods)
    answer = tool.answer(*objects)
    assert (len(answer["findings"]), answer["unlisted"], answer["pods"]["judged"]) == (40, 20, 60)
    assert {one["result"] for one in answer["findings"][:20]} == {"refused"}
    _, text, _ = tool(*objects)
    assert "and 20 more pods; --all lists them\n" in text
    assert len(tool.answer(*objects, arguments=("--all",))["findings"]) == 60
    assert "--all" not in tool(*objects, arguments=("--all",))[1]


def test_the_table_has_counts_pods_and_a_summary(tool: Tool) -> None:
    code, text, err = tool(STRICT, TOLD, *PODS, a_live_pod("done", status={"phase": "Succeeded"}))
    assert (code, err) == (0, "")
    rows = [line.split() for line in text.splitlines() if line.strip() and "─" not in line]
    assert rows[0] == ["POLICY", "MODE", "PODS", "REFUSED", "CHANGED", "LEFT", "OUT", "AS", "THEY", "ARE"]
    assert rows[1:3] == [
        ["strict", "Audit", "5", "1", "0", "0", "4"],
        ["team-a/told", "Warn", "3", "0", "1", "1", "1"],
    ]
    assert rows[3] == ["OWNER", "WOULD", "BE", "PODS", "FIRST", "POD", "WHY"]
    assert rows[4][:5] == ["team-a/Pod/refused", "refused", "1", "refused", "strict:"]
    assert text.endswith(
        "5 pods in all namespaces (1 finished: left out), were all policies enforced: 1 refused, 1 changed, "
        "1 with a policy left out in part, 2 as they are.\n"
    )


def owned(pod: Json, kind: str, name: str, **labels: str) -> Json:
    """The pod with a controller."""
    owners: list[Json] = [{"apiVersion": "x/v1", "kind": "Other", "name": "no-controller", "uid": "o"}]
    owners += [{"apiVersion": "x/v1", "kind": kind, "name": name, "uid": "u", "controller": True}]
    return {**pod, "metadata": {**pod["metadata"], "labels": labels, "ownerReferences": owners}}


def of_web(number: int, pool: str = "b", namespace: str = "team-a") -> Json:
    """A pod of the Deployment web, of whose ReplicaSets there are two."""
    template = f"5d{number % 2}"
    pod = a_live_pod(f"web-{template}-{number:03}", namespace, nodeSelector={"pool": pool})
    return owned(pod, "ReplicaSet", f"web-{template}", **{"pod-template-hash": template})


def grouped(text: str) -> list[list[str]]:
    """Owner, result, pods and first pod of each row of the second table."""
    rows = [line.split() for line in text.splitlines()]
    start = next(number for number, row in enumerate(rows) if row[:1] == ["OWNER"])
    return [row[:4] for row in rows[start:] if len(row) > 4 and row[0].count("/") == 2 and row[2].isdigit()]


def test_the_table_has_a_row_for_an_owner_and_reason(tool: Tool) -> None:
    pods = [of_web(number) for number in range(500)]
    others = [of_web(500, pool="c"), of_web(501, namespace="team-b")]
    job = owned(a_live_pod("train-x", nodeSelector={"pool": "b"}), "Job", "train")
    code, text, _ = tool(STRICT, *pods, *others, job, a_live_pod("alone", nodeSelector={"pool": "b"}))
    assert code == 0
    assert grouped(text) == [
        ["team-a/Deployment/web", "refused", "500", "web-5d0-000"],
        ["team-a/Deployment/web", "refused", "1", "web-5d0-500"],
        ["team-b/Deployment/web", "refused", "1", "web-5d1-501"],
        ["team-a/Job/train", "refused", "1", "train-x"],
        ["team-a/Pod/alone", "refused", "1", "alone"],
    ]
    assert "--all" not in text


def test_a_replica_set_that_no_deployment_made_is_the_owner(tool: Tool) -> None:
    pod = owned(a_live_pod("web-x", nodeSelector={"pool": "b"}), "ReplicaSet", "web-5d0")
    assert [one["owner"] for one in tool.answer(STRICT, pod)["findings"]] == ["ReplicaSet/web-5d0"]


def test_documents_have_every_pod_with_its_owner(tool: Tool) -> None:
    pods = [of_web(number) for number in range(3)]
    findings = tool.answer(STRICT, *pods)["findings"]
    assert [(one["name"], one["owner"]) for one in findings] == [
        ("web-5d0-000", "Deployment/web"),
        ("web-5d1-001", "Deployment/web"),
        ("web-5d0-002", "Deployment/web"),
    ]
    code, text, err = tool(STRICT, *pods, arguments=("-o", "yaml"))
    assert (code, err, yaml.safe_load(text)) == (0, "", tool.answer(STRICT, *pods))


def test_what_there_is_not_is_said(tool: Tool) -> None:
    assert tool(a_namespace("a"), *PODS)[1] == "No policies here: no pod would be refused or changed.\n"
    assert tool(STRICT)[1].endswith("No pods in all namespaces.\n")
    assert tool(STRICT, arguments=("-n", "team-x"))[1].endswith("No pods in namespace 'team-x'.\n")


def test_exit_code_1_is_for_who_asks_for_it(tool: Tool) -> None:
    assert tool(STRICT, *PODS)[0] == 0
    assert tool(STRICT, *PODS, arguments=("--fail",))[0] == 1
    assert tool(STRICT, *PODS[1:], arguments=("--fail",))[0] == 0


@pytest.mark.parametrize(
    ("pod", "text"),
    [
        (a_pod(nodeselector={}), "Pod: spec.nodeselector: is not a field that Kubernetes knows"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {}}, "Pod: metadata.name: is required"),
        (cluster_pod_policy(mode="x"), 'spec.mode: "x": must be'),
    ],
)
def test_wrong_input_has_no_answer(pod: Json, text: str, tool: Tool) -> None:
    code, out, err = tool(STRICT, pod)
    assert (code, out) == (2, "")
    assert text in err


def test_a_namespace_and_all_of_them_exclude_each_other(tool: Tool) -> None:
    code, _, err = tool(STRICT, arguments=("-n", "a", "-A"))
    assert code == 2
    assert "--namespace and --all-namespaces exclude each other" in err


def test_pods_that_have_what_policies_give_stay_as_they_are(tool: Tool) -> None:
    term = {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["a"]}]}
    affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}}
    answer = tool.answer(cluster_pod_policy(affinity=affinity), a_live_pod("has", affinity=affinity))
    assert (answer["pods"]["unchanged"], answer["findings"]) == (1, [])

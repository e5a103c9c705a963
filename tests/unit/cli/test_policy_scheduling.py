"""`penstock policy` and SchedulingPolicies: judged where there is one, by the rights of the pod's account."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from controller.cli.main import run
from controller.cli.policy.faults import NoAnswer
from controller.cli.policy.from_cluster import surroundings_in
from controller.cli.policy.surroundings import UNASKED, Settings
from controller.kube.errors import Forbidden
from tests.support.api_objects import Json, pod_policy, scheduling_policy
from tests.support.policy_files import SPOT, a_case, a_namespace, a_pod, a_suite, write
from tests.support.rbac_objects import a_binding, a_role, a_rule, account, group
from tests.unit.cli.test_policy_cluster import Cluster, listed

NO = Forbidden(403, "Forbidden", "no")
RBAC = "rbac.authorization.k8s.io/v1"
SSD = {"disk": ["ssd"]}
TEAM = scheduling_policy("team", required={"nodeSelectors": SSD}, allowed={"nodeSelectors": {"zone": []}})
OPEN = scheduling_policy("open", allowed={"nodeSelectors": {}, "tolerations": []})


def rights(*names: str, subject: Json | None = None, namespace: str = "default") -> list[Json]:
    """The accounts of a namespace may use policies of these names."""
    subject = subject or group(f"system:serviceaccounts:{namespace}")
    binding = a_binding("users", "user", subject, namespace=namespace)
    return [
        {"apiVersion": RBAC, "kind": "ClusterRole", **a_role("user", a_rule(*names))},
        {"apiVersion": RBAC, "kind": "RoleBinding", **binding},
    ]


class Tool:
    """The commands in a folder of their own."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        code = run(["policy", *arguments])
        out, err = self._capsys.readouterr()
        return code, out, err

    def text(self, pod: Json, *objects: Json, arguments: tuple[str, ...] = ()) -> tuple[int, str, str]:
        file = write(self.folder / "pod.yaml", pod)
        known = write(self.folder / "objects.yaml", *(objects or (a_namespace("default"),)))
        return self("explain", "-f", str(file), "--objects", str(known), *arguments)

    def answer(self, pod: Json, *objects: Json, arguments: tuple[str, ...] = ()) -> Json:
        code, out, err = self.text(pod, *objects, arguments=("-o", "json", *arguments))
        assert err == ""
        (found,) = orjson.loads(out)["pods"]
        assert code == (1 if found["result"] == "refused" else 0)
        return dict(found)

    def report(self, *objects: Json, arguments: tuple[str, ...] = ()) -> Json:
        file = write(self.folder / "objects.yaml", *objects)
        code, out, err = self("report", "--objects", str(file), "-o", "json", *arguments)
        assert (code, err) == (0, "")
        return dict(orjson.loads(out))


@pytest.fixture
def tool(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tool:
    monkeypatch.setenv("COLUMNS", "200")
    return Tool(tmp_path, capsys)


def step(answer: Json, title: str = "Scheduling policies") -> Json:
    return next(dict(one) for one in answer["steps"] if one["step"] == title)


def test_explain_tells_what_the_account_may_use_and_got(tool: Tool) -> None:
    answer = tool.answer(a_pod(), TEAM, OPEN, *rights("team", "absent"))
    assert step(answer)["account"] == {
        "namespace": "default",
        "name": "default",
        "merge": "DeepMerge",
        "mayUse": [{"policy": "team", "mode": "Enforce"}],
        "mayNotUse": ["open"],
        "enforced": ["team"],
        "gives": [
            {
                "policy": "team",
                "entry": "required.nodeSelectors[disk]",
                "path": "spec.nodeSelector[disk]",
                "value": "ssd",
            }
        ],
    }
    assert (answer["result"], answer["directives"]["nodeSelector"]) == ("changed", {"disk": "ssd"})
    assert UNASKED in answer["notes"]
    _, text, _ = tool.text(a_pod(), TEAM, OPEN, *rights("team"))
    assert (
        """4. Scheduling policies: changes the pod
   ServiceAccount 'default' of namespace 'default' may use team; merged by DeepMerge
   and may not use open
   team gives spec.nodeSelector[disk]: ssd, by its required.nodeSelectors[disk]
     metadata.annotations[penstock.dev/policies]: + SchedulingPolicy/team
     spec.nodeSelector[disk]: + ssd
"""
        in text
    )
    assert "5. Queue: nothing to change\n6. Scheduling policies' check: nothing is wrong with it\n" in text


def test_a_pod_is_refused_by_what_its_account_may_not_do(tool: Tool) -> None:
    code, text, _ = tool.text(a_pod(tolerations=[SPOT]), TEAM, *rights("team"))
    assert code == 1
    assert "6. Scheduling policies' check: refuses the pod\n" in text
    assert "Result: refused by Scheduling policies' check\n  spec.tolerations" in text
    assert tool.answer(a_pod(tolerations=[SPOT]), TEAM, OPEN, *rights("team", "open"))["result"] == "changed"


def test_an_account_without_rights_is_told_so(tool: Tool) -> None:
    code, text, _ = tool.text(a_pod(), TEAM)
    assert code == 1
    assert "   ServiceAccount 'default' of namespace 'default' may use none of team\n" in text
    assert "may use none of the SchedulingPolicies; grant it the verb use on one" in text
    own = rights("team", subject=account("builder"))
    assert tool.answer(a_pod(serviceAccountName="builder"), TEAM, *own)["result"] == "changed"
    assert tool.answer(a_pod(), TEAM, *own)["result"] == "refused"


def test_what_is_not_enforced_is_a_warning(tool: Tool) -> None:
    told = scheduling_policy("told", mode="Warn", required={"nodeSelectors": {"pool": ["a", "b"]}})
    answer = tool.answer(a_pod(), told, *rights("told"))
    assert answer["result"] == "allowed"
    (warning,) = answer["warnings"]
    assert warning.startswith("the pod would be refused: ")
    _, text, _ = tool.text(a_pod(), told, *rights("told"))
    assert "may use told (mode Warn); merged by DeepMerge, of which is enforced none\n" in text
    assert "6. Scheduling policies' check: nothing that is enforced is wrong\n" in text


def test_the_way_of_merging_is_the_options(tool: Tool) -> None:
    objects = (scheduling_policy("a", allowed={"tolerations": []}), TEAM, *rights("a", "team"))
    assert tool.answer(a_pod(), *objects)["directives"]["nodeSelector"] == {"disk": "ssd"}
    first = tool.answer(a_pod(), *objects, arguments=("--scheduling-policy-merge", "FirstPolicy"))
    assert (step(first)["account"]["enforced"], first["result"]) == (["a"], "allowed")


def test_policies_are_judged_unless_ruled_out(tool: Tool) -> None:
    assert tool.answer(a_pod(), TEAM, arguments=("--no-scheduling-policies",))["result"] == "allowed"
    off = tool.answer(a_pod())
    assert [(one["step"], one["off"]) for one in off["steps"]][1:4] == [
        ("RuntimeClass", True),
        ("Pod scheduling policies", False),
        ("Scheduling policies", True),
    ]
    asked = tool.answer(a_pod(), TEAM, *rights("team"), arguments=("--scheduling-policies",))
    assert (UNASKED in asked["notes"], asked["result"]) == (False, "changed")
    on = tool.answer(a_pod(), arguments=("--scheduling-policies",))
    assert [one["off"] for one in on["steps"]] == [False] * 6


def test_a_class_that_a_policy_gives_comes_with_its_priority(tool: Tool) -> None:
    gives = scheduling_policy("gives", default={"priorityClassName": "high"}, allowed={"priorityClassNames": ["high"]})
    classes = [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 9},
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "usual"},
            "value": 1,
            "globalDefault": True,
        },
    ]
    answer = tool.answer(a_pod(), gives, *classes, *rights("gives"))
    assert {name: answer["directives"][name] for name in ("priorityClassName", "priority")} == {
        "priorityClassName": "high",
        "priority": 9,
    }


def test_faults_of_policies_and_rights_in_files_are_told(tool: Tool) -> None:
    bad = scheduling_policy("bad", mode="Never")
    assert "SchedulingPolicy: schedulingpolicies.penstock.dev/bad: spec.mode" in tool.text(a_pod(), bad)[2]
    role = {"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": "r"}, "rules": [{"verb": ["use"]}]}
    assert "ClusterRole: rules[0].verb: is not a field" in tool.text(a_pod(), TEAM, role)[2]
    # where no policy asks for rights, nobody minds how they are written
    assert tool.answer(a_pod(), role)["result"] == "allowed"


@pytest.mark.parametrize(
    ("settings", "result"),
    [({}, "refused"), ({"schedulingPolicies": True}, "refused"), ({"schedulingPolicies": False}, "allowed")],
)
def test_a_suite_says_whether_pods_are_judged(settings: Json, result: str, tmp_path: Path) -> None:
    case = a_case(result=result, **({"message": "may use none"} if result == "refused" else {}))
    a_suite(tmp_path, case, objects=(TEAM,), settings=settings)
    assert run(["policy", "test", str(tmp_path)]) == 0


def test_a_suite_says_how_policies_are_merged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    objects = (scheduling_policy("a", allowed={"tolerations": []}), TEAM, *rights())
    a_suite(tmp_path, a_case(result="allowed"), objects=objects, settings={"schedulingPolicyMerge": "FirstPolicy"})
    assert run(["policy", "test", str(tmp_path)]) == 0
    a_suite(tmp_path, a_case(policies=["SchedulingPolicy/team"]), objects=objects)
    assert run(["policy", "test", str(tmp_path)]) == 0
    a_suite(tmp_path, a_case(), objects=objects, settings={"schedulingPolicyMerge": "Any"})
    capsys.readouterr()
    assert run(["policy", "test", str(tmp_path)]) == 2
    assert 'settings.schedulingPolicyMerge: "Any"' in capsys.readouterr().err


def live(name: str, **fields: Any) -> Json:
    pod = a_pod(name, namespace="default", nodeName="n1", **fields)
    return {**pod, "status": {"phase": "Running", "conditions": [{"type": "PodScheduled", "status": "True"}]}}


def test_a_report_judges_by_accounts_as_if_all_were_enforced(tool: Tool) -> None:
    audited = {**TEAM, "spec": {**TEAM["spec"], "mode": "Audit"}}
    pods = (
        live("given"),
        live("as-it-is", nodeSelector={"disk": "ssd"}),
        live("refused", tolerations=[SPOT]),
        live("stranger", serviceAccountName="stranger"),
    )
    objects = (audited, OPEN, *rights("team", subject=account("default", "default")), *pods)
    found = tool.report(*objects)
    assert {name: found["pods"][name] for name in ("judged", "refused", "changed", "unchanged")} == {
        "judged": 4,
        "refused": 2,
        "changed": 1,
        "unchanged": 1,
    }
    rows = {one["policy"]: one for one in found["policies"]}
    assert list(rows) == ["SchedulingPolicy/open", "SchedulingPolicy/team"]
    team = rows["SchedulingPolicy/team"]
    assert [team[name] for name in ("mode", "selected", "refused", "changed", "unchanged")] == ["Audit", 3, 0, 2, 1]
    assert rows["SchedulingPolicy/open"]["selected"] == 0
    why = {one["name"]: one["reasons"] for one in found["findings"]}
    assert why["given"] == [
        {"policy": "SchedulingPolicies", "message": "set, by policy: team: spec.nodeSelector[disk]"}
    ]
    assert "may use none" in why["stranger"][0]["message"]
    assert found["notes"] == [UNASKED]
    assert tool.report(*objects, arguments=("--no-scheduling-policies",))["policies"] == []


def test_additions_to_daemon_pods_are_not_held_against_them(tool: Tool) -> None:
    pod = live(
        "agent",
        nodeSelector={"disk": "ssd"},
        tolerations=[{"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}],
    )
    objects = (TEAM, *rights("team"))
    assert tool.report(*objects, pod)["pods"]["refused"] == 1
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "1", "controller": True}
    pod["metadata"]["ownerReferences"] = [owner]
    assert tool.report(*objects, pod)["pods"]["refused"] == 0


def test_a_refusal_of_a_pod_policy_stands_alone(tool: Tool) -> None:
    strict = pod_policy("strict", nodeSelector={"disk": "hdd"}, onConflict="Reject")
    found = tool.report(strict, TEAM, *rights("team"), live("one", nodeSelector={"disk": "ssd"}))
    (one,) = found["findings"]
    assert [reason["policy"] for reason in one["reasons"]] == ["default/strict"]
    assert [(row["policy"], row["selected"]) for row in found["policies"]] == [
        ("default/strict", 1),
        ("SchedulingPolicy/team", 0),
    ]


async def test_rights_are_read_only_where_a_policy_needs_them() -> None:
    cluster = Cluster(namespaces=orjson.dumps(a_namespace("a")), schedulingpolicies=listed(TEAM))
    found, notes = await surroundings_in(cluster.as_client, Settings(), "a")
    assert (notes, found.judges_accounts, found.world.runtime_classes is not None) == ((), True, True)
    assert [call.path for call in cluster.calls if RBAC in call.path] == [
        f"/apis/{RBAC}/namespaces/a/roles",
        f"/apis/{RBAC}/clusterroles",
        f"/apis/{RBAC}/namespaces/a/rolebindings",
        f"/apis/{RBAC}/clusterrolebindings",
    ]
    off = Cluster(namespaces=orjson.dumps(a_namespace("a")), schedulingpolicies=NO)
    found, notes = await surroundings_in(off.as_client, Settings(scheduling_policies=False), "a")
    assert (notes, found.judges_accounts) == ((), False)


async def test_a_missing_right_to_read_rights_is_one_line() -> None:
    answers: dict[str, bytes | Exception] = {
        "namespaces": orjson.dumps(a_namespace("a")),
        "schedulingpolicies": listed(TEAM),
        "clusterroles": NO,
        "clusterrolebindings": NO,
        "runtimeclasses": NO,
    }
    found, notes = await surroundings_in(Cluster(**answers).as_client, Settings(), "a")
    assert notes == (
        "no right to list clusterroles.rbac.authorization.k8s.io: SchedulingPolicies are left out; ask for the "
        "ClusterRole penstock-access-reader to have them judged",
        "no right to list runtimeclasses.node.k8s.io: what the RuntimeClass of a pod demands is left out",
    )
    assert not found.judges_accounts
    with pytest.raises(NoAnswer) as caught:
        await surroundings_in(Cluster(**answers).as_client, Settings(scheduling_policies=True), "a")
    assert caught.value.message == (
        "no right to list clusterroles.rbac.authorization.k8s.io in the whole cluster: ask for the ClusterRole "
        "penstock-access-reader, leave SchedulingPolicies out with --no-scheduling-policies, or use --objects with "
        "files"
    )


async def test_pods_are_not_judged_without_their_classes() -> None:
    namespace = orjson.dumps(a_namespace("a"))
    cluster = Cluster(namespaces=namespace, schedulingpolicies=listed(TEAM), priorityclasses=NO)
    with pytest.raises(NoAnswer, match=r"no right to list priorityclasses\.scheduling\.k8s\.io in the whole cluster"):
        await surroundings_in(cluster.as_client, Settings(), "a")

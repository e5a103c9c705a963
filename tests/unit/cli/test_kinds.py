"""`penstock kinds`: what comes with Penstock, and what is to be applied for a kind."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from controller.cli.main import run
from controller.kube.manifests import load_documents
from controller.sandbox.shipped import manifests

SHIPPED = sorted(file.stem for file in manifests("kinds").glob("*.yaml"))


def test_all_that_come_with_penstock_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["kinds", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == SHIPPED
    told = [" ".join(line.split()) for line in lines]
    assert "rayjobs.ray.io RayJob of ray.io/v1, suspended by spec.suspend" in told


@pytest.mark.parametrize("name", SHIPPED)
def test_a_file_has_the_name_of_its_kind(name: str) -> None:
    (kind,) = load_documents(manifests("kinds") / f"{name}.yaml")
    version = kind["spec"]["version"]
    assert kind["metadata"]["name"] == name.replace(f".{version}.", ".")


@pytest.mark.parametrize("name", SHIPPED)
def test_what_is_applied_for_a_kind(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["kinds", "render", name, "--penstock-namespace", "q", "--break-glass-group", "glass"]) == 0
    out = capsys.readouterr().out
    documents = list(yaml.safe_load_all(out))
    assert [one["kind"] for one in documents] == [
        "WorkloadKind",
        "ClusterRole",
        *("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"),
        *(["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"] * 3),
    ]
    assert "penstock-system" not in out
    assert "penstock:break-glass" not in out
    assert "&id" not in out


def test_a_kind_of_ones_own_comes_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "kind.yaml"
    file.write_text((manifests("kinds") / "rayjobs.ray.io.yaml").read_text().replace("ray.io", "sample.example.com"))
    assert run(["kinds", "render", "-f", str(file)]) == 0
    assert "penstock-suspend-rayjobs.sample.example.com" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ([], 2, "name a kind that `penstock kinds list` lists"),
        (
            ["rayjobs"],
            2,
            "no kind 'rayjobs' comes with Penstock, which has jobsets.jobset.x-k8s.io, ",
        ),
        (["-f", "absent.yaml"], 1, "absent.yaml: no such file or folder"),
    ],
)
def test_a_wrong_name_says_what_to_write(
    arguments: list[str], code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["kinds", "render", *arguments]) == code
    assert told in capsys.readouterr().err


def test_a_faulty_kind_says_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "kind.yaml"
    shipped = (manifests("kinds") / "rayjobs.ray.io.yaml").read_text()
    file.write_text(shipped.replace("suspend: .spec.suspend", "suspend: spec.suspend"))
    assert run(["kinds", "render", "-f", str(file)]) == 1
    assert "spec.suspend" in capsys.readouterr().err
    file.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    assert run(["kinds", "render", "-f", str(file)]) == 1
    assert "holds no WorkloadKind" in capsys.readouterr().err

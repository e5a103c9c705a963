from __future__ import annotations

import asyncio
import base64
import os
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml

from controller.kube import service_account
from controller.kube.client import Client
from controller.kube.config import load, namespace
from controller.kube.connection import Connection
from controller.kube.errors import ConfigError

Json = dict[str, Any]
JUNK = base64.b64encode(b"junk").decode()


def a_kubeconfig(**parts: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:6443"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        **parts,
    }


@pytest.fixture(autouse=True)
def _no_settings_of_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "kubeconfig"


def read(kubeconfig: str | None = None, context: str | None = None) -> Connection:
    """Settings are read once, before anything is served: the one place that may block its loop."""
    return asyncio.run(load(kubeconfig, context))


def connect(kubeconfig: str) -> str:
    """Read the settings and make the client that uses them, which reads the TLS files; no request is made."""

    async def enter() -> str:
        async with Client(await load(kubeconfig), user_agent="tests") as client:
            return client.url

    return asyncio.run(enter())


def written(file: Path, content: Json | str) -> str:
    file.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return str(file)


def test_a_kubeconfig_is_read(file: Path) -> None:
    configuration = read(written(file, a_kubeconfig()))
    assert configuration.host == "https://127.0.0.1:6443"


@pytest.mark.parametrize(
    ("user", "header"),
    [
        ({"token": "t"}, "Bearer t"),
        ({"username": "jane", "password": "secret"}, f"Basic {base64.b64encode(b'jane:secret').decode()}"),
        ({}, ""),
    ],
)
def test_requests_have_the_credentials_of_the_user(file: Path, user: Json, header: str) -> None:
    async def found() -> str:
        return await (await load(written(file, a_kubeconfig(users=[{"name": "u", "user": user}])))).authorization()

    assert asyncio.run(found()) == header


def test_the_token_of_a_file_is_read_without_its_newline(file: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t\n")
    user = {"tokenFile": str(tmp_path / "token")}

    async def found() -> str:
        return await (await load(written(file, a_kubeconfig(users=[{"name": "u", "user": user}])))).authorization()

    assert asyncio.run(found()) == "Bearer t"


def test_another_context_can_be_named(file: Path) -> None:
    other = {"name": "there", "context": {"cluster": "d", "user": "u"}}
    cluster = {"name": "d", "cluster": {"server": "https://127.0.0.1:7443"}}
    base = a_kubeconfig()
    config = a_kubeconfig(contexts=[*base["contexts"], other], clusters=[*base["clusters"], cluster])
    assert (read(written(file, config), "there")).host == "https://127.0.0.1:7443"


def test_the_variable_comes_before_the_home_folder(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / ".kube" / "config"
    home.parent.mkdir()
    written(home, a_kubeconfig(clusters=[{"name": "c", "cluster": {"server": "https://home:1"}}]))
    assert (read()).host == "https://home:1"
    monkeypatch.setenv("KUBECONFIG", written(file, a_kubeconfig()))
    assert (read()).host == "https://127.0.0.1:6443"


FAULTS: list[tuple[str, Any, str]] = [
    ("not YAML", "a: [", "not YAML"),
    ("empty", "", ""),
    ("a scalar", "hello", ""),
    ("a list", "- 1\n- 2\n", ""),
    ("binary", "\x00\x01", "not YAML"),
    ("tabs", "\tx: 1", "not YAML"),
    ("far too deep", "[" * 10_000 + "]" * 10_000, "not YAML"),
    ("clusters of a wrong type", a_kubeconfig(clusters="c"), ""),
    ("contexts of a wrong type", a_kubeconfig(contexts=5), ""),
    ("contexts that are no mappings", a_kubeconfig(contexts=[5]), ""),
    ("a context without its body", a_kubeconfig(contexts=[{"name": "here"}]), ""),
    ("a context that names no cluster", a_kubeconfig(contexts=[{"name": "here", "context": {"user": "u"}}]), ""),
    ("no clusters", a_kubeconfig(clusters=None), ""),
    ("no contexts", a_kubeconfig(contexts=[]), "here"),
    ("a missing cluster", a_kubeconfig(clusters=[{"name": "x", "cluster": {"server": "https://a"}}]), "c"),
    ("a cluster without server", a_kubeconfig(clusters=[{"name": "c", "cluster": {}}]), "server"),
    (
        "a cluster with all but a server",
        a_kubeconfig(clusters=[{"name": "c", "cluster": {"insecure-skip-tls-verify": True}}]),
        "server",
    ),
    ("a missing context", a_kubeconfig(**{"current-context": "nowhere"}), "nowhere"),
    ("no current context", a_kubeconfig(**{"current-context": None}), "current-context"),
    ("an empty current context", a_kubeconfig(**{"current-context": ""}), ""),
    (
        "CA data of a wrong type",
        a_kubeconfig(clusters=[{"name": "c", "cluster": {"server": "https://a", "certificate-authority-data": 5}}]),
        "",
    ),
    (
        "a CA file that is not there",
        a_kubeconfig(clusters=[{"name": "c", "cluster": {"server": "https://a", "certificate-authority": "/no/ca"}}]),
        "/no/ca",
    ),
    ("a user of a wrong type", a_kubeconfig(users=[{"name": "u", "user": "admin"}]), ""),
    (
        "an exec plugin that is not there",
        a_kubeconfig(
            users=[
                {
                    "name": "u",
                    "user": {"exec": {"command": "/no/such/plugin", "apiVersion": "client.authentication.k8s.io/v1"}},
                }
            ]
        ),
        "",
    ),
]


@pytest.mark.parametrize(("content", "names"), [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS])
def test_a_kubeconfig_that_cannot_be_used_is_one_line(file: Path, content: Any, names: str) -> None:
    path = written(file, content)
    with pytest.raises(ConfigError) as caught:
        connect(path)
    text = str(caught.value)
    assert "\n" not in text
    assert path in text
    assert names in text
    assert len(text) < 600


@pytest.mark.parametrize(
    "parts",
    [
        {"clusters": [{"name": "c", "cluster": {"server": "https://a", "certificate-authority-data": "%"}}]},
        {"clusters": [{"name": "c", "cluster": {"server": "https://a", "certificate-authority-data": JUNK}}]},
        {"users": [{"name": "u", "user": {"client-certificate-data": JUNK, "client-key-data": JUNK}}]},
    ],
)
def test_certificates_that_are_none_are_one_line(file: Path, parts: Json) -> None:
    with pytest.raises(ConfigError, match=r"^TLS files of the kubeconfig \(.+\): .+") as caught:
        connect(written(file, a_kubeconfig(**parts)))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("name", "fault"), [("nothing", "no such file"), ("", "is a directory, not a file")])
def test_a_kubeconfig_that_is_no_file_says_what_to_do(tmp_path: Path, name: str, fault: str) -> None:
    path = tmp_path / name
    with pytest.raises(ConfigError) as caught:
        read(str(path))
    expected = f"{fault}: {path}; name one with --kubeconfig FILE or set KUBECONFIG"
    assert str(caught.value) == f"--kubeconfig or KUBECONFIG: {expected}"


def test_without_any_settings_the_default_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^the default kubeconfig: no such file: .*/\.kube/config; name one"):
        read()


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "")
    with pytest.raises(ConfigError, match="the default kubeconfig"):
        read()


def test_files_are_joined_and_absent_ones_passed_over(file: Path, tmp_path: Path) -> None:
    users = tmp_path / "users"
    written(users, {"users": a_kubeconfig()["users"]})
    config = a_kubeconfig()
    del config["users"]
    joined = os.pathsep.join([written(file, config), str(users), str(tmp_path / "absent")])
    assert (read(joined)).host == "https://127.0.0.1:6443"


def test_a_pod_without_its_token_names_the_service_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    with pytest.raises(ConfigError, match=r"^service account of this pod: .+") as caught:
        read()
    assert "\n" not in str(caught.value)


def test_a_good_ca_is_taken(file: Path) -> None:
    pem = base64.b64encode(trustme.CA().cert_pem.bytes()).decode()
    cluster = {"server": "https://a", "certificate-authority-data": pem}
    path = written(file, a_kubeconfig(clusters=[{"name": "c", "cluster": cluster}]))
    assert connect(path) == "https://a"


def test_the_namespace_is_the_contexts_own(file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    there = {"name": "there", "context": {"cluster": "c", "user": "u", "namespace": "team-a"}}
    contexts = [{"name": "here", "context": {"cluster": "c", "user": "u"}}, there]
    file.write_text(yaml.safe_dump(a_kubeconfig(contexts=contexts)))
    assert namespace(str(file)) == "default"
    assert namespace(str(file), "there") == "team-a"
    monkeypatch.setenv("KUBECONFIG", str(file))
    file.write_text(yaml.safe_dump(a_kubeconfig(contexts=contexts, **{"current-context": "there"})))
    assert namespace() == "team-a"


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (
            {"current-context": "absent"},
            r"kubeconfig .*: current-context: 'absent' is none of its contexts; name one of here with --context",
        ),
        ({"current-context": ""}, "kubeconfig .*: it has no current-context; name one of here with --context"),
        ({"contexts": []}, "kubeconfig .*; it has no contexts: add one"),
        ({"contexts": [{"context": {}}]}, "kubeconfig .*: "),
        ({"contexts": 3}, "contexts: must be a list"),
    ],
)
def test_an_unusable_context_names_no_namespace(file: Path, parts: Json, text: str) -> None:
    file.write_text(yaml.safe_dump(a_kubeconfig(**parts)))
    with pytest.raises(ConfigError, match=text) as caught:
        namespace(str(file))
    assert "\n" not in str(caught.value)


def test_the_namespace_of_a_pod_is_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setattr(service_account, "FOLDER", tmp_path)
    assert namespace() == "default"
    (tmp_path / "namespace").write_text("team-b\n")
    assert namespace() == "team-b"


def test_a_wrong_context_is_answered_with_those_there_are(file: Path) -> None:
    path = written(file, a_kubeconfig())
    for ask in (read, namespace):
        with pytest.raises(ConfigError) as caught:
            ask(path, "nope")
        assert str(caught.value) == f"kubeconfig {path}: there is no context 'nope'; name one of here with --context"


def test_whom_a_kubeconfig_acts_as_is_read(file: Path) -> None:
    user = {
        "token": "t",
        "as": "jane",
        "as-uid": "7",
        "as-groups": ["ops", "dev"],
        "as-user-extra": {"Example.com/Team": ["a", "b"]},
    }
    file.write_text(yaml.safe_dump(a_kubeconfig(users=[{"name": "u", "user": user}])))
    acting = read(str(file)).acting_as
    assert acting is not None
    assert acting.headers == [
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "ops"),
        ("Impersonate-Group", "dev"),
        ("Impersonate-Extra-example.com%2Fteam", "a"),
        ("Impersonate-Extra-example.com%2Fteam", "b"),
    ]


def test_of_several_files_the_first_that_has_the_user_counts(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    for path, name in ((file, "jane"), (other, "joe")):
        path.write_text(yaml.safe_dump(a_kubeconfig(users=[{"name": "u", "user": {"token": "t", "as": name}}])))
    acting = read(os.pathsep.join(map(str, (file, other)))).acting_as
    assert acting is not None
    assert acting.user == "jane"


def test_who_acts_as_nobody_acts_as_itself(file: Path) -> None:
    file.write_text(yaml.safe_dump(a_kubeconfig()))
    assert read(str(file)).acting_as is None


@pytest.mark.parametrize(
    ("user", "text"),
    [
        ({"as-groups": ["ops"]}, "users: u: has as-groups and no as"),
        ({"as": 7}, "users: u: cannot be acted as"),
        ({"as": "jane", "as-groups": "ops"}, "users: u: cannot be acted as"),
        ({"as": "jane", "as-user-extra": {"a": "b"}}, "users: u: cannot be acted as"),
    ],
)
def test_an_impersonation_that_cannot_be_used_is_one_line(file: Path, user: Json, text: str) -> None:
    file.write_text(yaml.safe_dump(a_kubeconfig(users=[{"name": "u", "user": {"token": "t", **user}}])))
    with pytest.raises(ConfigError, match=text):
        read(str(file))

"""Every command that a page tells readers to run exists, with its options: of penstock, kubectl and make."""

from __future__ import annotations

import re
from collections.abc import Sequence

import click
import pytest

from controller.api.crd import KINDS
from controller.cli.main import root
from controller.extension_api.pacing import Turns
from controller.extension_api.queueing.history_reads import HistoryReads
from controller.extension_api.queueing.registry import resources
from controller.forking import Forks
from controller.history.reader import Reader
from controller.history.store import Store
from controller.visibility.start_forecasts import StartForecasts
from tests.support.builders import a_cache
from tests.support.documented import ROOT
from tests.support.documents import Line, commands, named

TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
OF_KUBERNETES = {
    *(
        "apiservice",
        "apiservices",
        "namespaces",
        "clusterrole",
        "clusterrolebinding",
        "clusterrolebindings",
        "cronjobs",
        "crd",
        "deployment",
    ),
    *("deployments", "endpointslices", "job", "jobs", "lease", "mutatingadmissionpolicies"),
    *("mutatingadmissionpolicybindings", "mutatingwebhookconfigurations", "namespace", "nodes"),
    *("pod", "poddisruptionbudgets", "pods", "serviceaccount"),
    *("validatingadmissionpolicies", "validatingadmissionpolicybindings", "validatingwebhookconfiguration"),
    *("validatingwebhookconfigurations", "role", "rolebinding", "secret", "token"),
}
OF_KUEUE = {"workload", "workloads"}
OURS = {
    name
    for kind in KINDS
    for name in (kind.definition.plural, kind.definition.kind.lower(), kind.definition.short_name)
}
HISTORY = HistoryReads(Reader(Store("sqlite:////nowhere")))
BY_THE_API = {
    name
    for one in resources(a_cache(), StartForecasts(), Turns(), Forks(1), history=HISTORY).all
    for name in (one.plural, one.singular, *one.short_names)
}
KNOWN = OF_KUBERNETES | OF_KUEUE | OURS | BY_THE_API
ABOUT_KINDS = {"annotate", "create", "delete", "describe", "edit", "explain", "get", "label", "patch", "scale", "wait"}
ABOUT_OTHERS = {
    "api-resources",
    "apply",
    "auth",
    "debug",
    "kustomize",
    "logs",
    "penstock",
    "port-forward",
    "rollout",
    "run",
    "set",
}
WITH_VALUES = {"-n", "--namespace", "-l", "--selector", "-o", "-p", "-f", "-k", "--raw"}


def called(words: Sequence[str]) -> tuple[click.Context, list[str]]:
    """The command that these words after `penstock` call, and what is left of them for it."""
    context, rest = click.Context(root, info_name="penstock"), list(words)
    while isinstance(context.command, click.Group) and rest and not rest[0].startswith("-"):
        command = context.command.get_command(context, rest[0])
        assert command is not None, f"{context.command_path} has no command {rest[0]}"
        context = click.Context(command, info_name=rest.pop(0), parent=context)
    return context, rest


def check(words: Sequence[str]) -> None:
    """Read a call as click does, up to the values of options that have a choice. Nothing runs."""
    context, rest = called(words)
    assert not isinstance(context.command, click.Group) or rest, f"{context.command_path} needs a command"
    if {"-h", "--help", "--version"} & set(rest):
        return
    values, left, _ = context.command.make_parser(context).parse_args(rest)
    assert not left or context.allow_extra_args, left
    for param in context.command.get_params(context):
        given = values.get(param.name or "")
        missing = given is None or given == () or type(given).__name__ == "Sentinel"
        assert not (param.required and missing), f"{context.command_path}: {param.name} is missing"
        if not missing and isinstance(param.type, click.Choice):
            param.type_cast_value(context, given)


def ids(line: Line) -> str:
    return f"{line.page}: {' '.join(line.words)}"[:120]


@pytest.mark.parametrize("line", commands("penstock"), ids=ids)
def test_a_command_of_a_page_can_be_run(line: Line) -> None:
    check(line.words[1:])


@pytest.mark.parametrize("line", named("penstock"), ids=ids)
def test_a_command_in_a_sentence_exists(line: Line) -> None:
    """Its options too; a sentence may leave out what it needs."""
    context, rest = called([word for word in line.words[1:] if word != "…"])
    known = {name for param in context.command.params for name in (*param.opts, *param.secondary_opts)}
    options = {word.partition("=")[0].rstrip("],") for word in rest if word.startswith("-") and len(word) > 1}
    assert options <= known | {"-h", "--help", "--version", "--"}, sorted(options - known)


def kinds(words: Sequence[str]) -> list[str]:
    """The kinds that a call of kubectl is about, without those that are named with their group."""
    plain, rest = list[str](), iter(words)
    for word in rest:
        if word in WITH_VALUES:
            next(rest, None)
        elif not word.startswith("-"):
            plain.append(word)
    verb, *about = plain
    assert verb in ABOUT_KINDS | ABOUT_OTHERS, f"kubectl {verb}"
    if verb not in ABOUT_KINDS or not about:
        return []
    named = about[0].partition("/")[0]
    written = [named.partition(".")[0]] if verb == "explain" else named.split(",")
    return [one for one in written if "." not in one]


@pytest.mark.parametrize("line", [*commands("kubectl"), *named("kubectl")], ids=ids)
def test_kubectl_is_asked_for_kinds_that_exist(line: Line) -> None:
    assert not set(kinds(line.words[1:])) - KNOWN


def test_a_kind_that_does_not_exist_is_found() -> None:
    assert kinds(["-n", "team-a", "get", "queues,pods", "-o", "wide"]) == ["queues", "pods"]
    assert "queues" not in KNOWN
    with pytest.raises(AssertionError):
        kinds(["gte", "pods"])


@pytest.mark.parametrize("line", [*commands("make"), *named("make")], ids=ids)
def test_a_target_of_make_exists(line: Line) -> None:
    targets = [word for word in line.words[1:] if "=" not in word and not word.startswith("-") and word[0] not in "'\""]
    assert not targets or targets[0] in TARGETS


@pytest.mark.parametrize(
    "words",
    [
        "expl pod/a",
        "pods --sate Pending",
        "pods -o yml",
        "policy",
        "audit",
        "hold",
        "policy frobnicate",
        "pods a b c",
    ],
)
def test_a_command_that_does_not_exist_is_found(words: str) -> None:
    with pytest.raises((click.ClickException, AssertionError)):
        check(words.split())


def test_commands_are_found_in_blocks_and_sentences() -> None:
    assert len(commands("penstock")) > 40
    assert len(named("penstock")) > 100
    assert Line("docs/quickstart.md", ("penstock", "sandbox", "env")) in commands("penstock")

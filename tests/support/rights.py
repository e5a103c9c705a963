"""The rights of Penstock's accounts, compared with what they asked the apiserver for: none too many, none missing.

`make rights` runs the tests on control planes with PENSTOCK_TEST_AUDIT=FOLDER, which keeps the audit log of each
there, then `python -m tests.support.rights FOLDER`, which reads all of them. A test of one scenario would be easier to
run, but would show what its author thought of; this shows what all these tests make the programs do.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from controller.api.parse import parse_workload_kind
from controller.core.workload_kinds.policies import documents_of
from controller.kube.manifests import load_documents
from controller.objects.workload_kinds import to_workload_kind
from controller.sandbox import Sandbox

Json = dict[str, Any]
CONFIG = Path(__file__).resolve().parents[2] / "config"
FOLDER = "PENSTOCK_TEST_AUDIT"
HOME = "penstock-system"
_KIND = "jobsets.jobset.x-k8s.io"
"""A kind that comes with Penstock, for the rights that each of them brings."""


@dataclass(frozen=True, slots=True, order=True)
class Given:
    """One verb on one resource (`jobs/status.batch`) that an account has by a role."""

    account: str
    resource: str
    verb: str

    def __str__(self) -> str:
        return f"{self.account}: {self.verb} {self.resource}"


_CONTROLLER, _WEBHOOK = "penstock-controller", "penstock-webhook"
UNUSED = {
    Given(_CONTROLLER, "secrets", "update"): "the authority of the visibility API is replaced before it expires",
    Given(_WEBHOOK, "namespaces", "get"): "a pod comes before the watch has told of its namespace",
}
"""Rights that no test uses, and why an account has them all the same."""
REFUSED = {
    Given(_CONTROLLER, "pods.metrics.k8s.io", "list"): "tests/integration/history asks before it applies the role",
}
"""What a test lets the apiserver refuse on purpose."""


def is_fallback(one: Given, rights: Collection[Given]) -> bool:
    """Whether it lists what the account watches: needed where an apiserver begins no watch with all there is."""
    return one.verb == "list" and replace(one, verb="watch") in rights


class _Object(msgspec.Struct, rename="camel"):
    resource: str = ""
    subresource: str = ""
    api_group: str = ""


class _User(msgspec.Struct):
    username: str = ""


class _Entry(msgspec.Struct, rename="camel"):
    verb: str
    user: _User
    request_uri: str = msgspec.field(name="requestURI")
    object_ref: _Object = msgspec.field(default_factory=_Object)
    annotations: dict[str, str] = {}


def keep(sandbox: Sandbox) -> None:
    """Keep the audit log of a sandbox that is about to end, where a folder for it is named."""
    if folder := os.environ.get(FOLDER):
        Path(folder).mkdir(parents=True, exist_ok=True)
        shutil.copy(sandbox.audit_log, Path(folder) / f"{sandbox.name}.log")


def given() -> Counter[Given]:
    """What the roles in config/ give to Penstock's accounts, and by how many rules."""
    documents = _documents()
    roles = {(one["kind"], one["metadata"]["name"]): one for one in documents if one["kind"].endswith("Role")}
    found: Counter[Given] = Counter()
    for binding in documents:
        role = roles.get((binding["roleRef"]["kind"], binding["roleRef"]["name"])) if "roleRef" in binding else None
        for subject in binding.get("subjects", ()):
            if role is None or subject["kind"] != "ServiceAccount":
                continue  # a role of Kubernetes' own, or rights of people
            found.update(_of(subject["name"], _rules(role, roles.values())))
    return found


def _documents() -> list[Json]:
    folders = [CONFIG / "rbac", CONFIG / "server", *sorted((CONFIG / "components").iterdir())]
    kind = to_workload_kind(parse_workload_kind(load_documents(CONFIG / "kinds" / f"{_KIND}.yaml")[0]))
    return [*(document for folder in folders for document in load_documents(folder)), *documents_of(kind)]


def _rules(role: Json, roles: Iterable[Json]) -> list[Json]:
    """The rules of a role, or of those that it gathers."""
    rules: list[Json] = list(role["rules"])
    for selector in role.get("aggregationRule", {}).get("clusterRoleSelectors", ()):
        wanted = selector["matchLabels"].items()
        rules += [rule for one in roles if wanted <= one["metadata"]["labels"].items() for rule in one["rules"]]
    return rules


def _of(account: str, rules: Iterable[Json]) -> Iterator[Given]:
    for rule in rules:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                yield from (Given(account, _full(resource, group), verb) for verb in rule["verbs"])


def _full(resource: str, group: str) -> str:
    return f"{resource}.{group}" if group else resource


def asked(log: Path) -> Iterator[tuple[Given, str, str]]:
    """What Penstock's accounts asked for: with the path, and the authorizer's reason where it refused, else empty."""
    decode, prefix = msgspec.json.Decoder(_Entry).decode, f"system:serviceaccount:{HOME}:"
    with log.open("rb") as lines:
        # of an apiserver that was killed the last line may be cut off
        for entry in (decode(line) for line in lines if line.endswith(b"}\n")):
            about = entry.object_ref
            if not entry.user.username.startswith(prefix) or not about.resource:
                continue
            resource = f"{about.resource}/{about.subresource}".rstrip("/")
            account = entry.user.username.removeprefix(prefix)
            is_refused = entry.annotations.get("authorization.k8s.io/decision") == "forbid"
            why = entry.annotations.get("authorization.k8s.io/reason") or "no rule allows it"
            yield (
                Given(account, _full(resource, about.api_group), entry.verb),
                entry.request_uri,
                why if is_refused else "",
            )


def compare(folder: Path) -> list[str]:
    """Say what is wrong: requests that were refused, rights that nobody used, exceptions that are none."""
    used, refused = Counter[Given](), dict[Given, str]()
    for log in sorted(folder.glob("*.log")):
        for one, path, why in asked(log):
            used[one] += not why
            if why and one not in REFUSED:
                refused.setdefault(one, f"refused: {one} ({path}): {why}")
    rights = given()
    unused = [one for one in sorted(rights) if not used[one] and not is_fallback(one, rights)]
    return [
        *refused.values(),
        *(f"never used: {one}" for one in unused if one not in UNUSED),
        *(f"used, so no exception: {one}" for one in sorted(UNUSED) if used[one]),
    ]


def main(arguments: list[str]) -> int:
    """Compare, and say what is wrong."""
    folder = Path(arguments[0])
    logs = len(list(folder.glob("*.log")))
    faults = compare(folder)
    told = f"{logs} audit logs, {len(given())} rights, {len(UNUSED)} of them never used for a reason"
    sys.stdout.writelines(f"{line}\n" for line in (*faults, told))
    return 1 if faults or not logs else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Penstock by kubectl and kustomize: applied, upgraded from the last release, applied back and uninstalled."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from controller.sandbox.versions import VERSIONS
from tests.integration.installing.site import Site
from tests.support.documented import ROOT, commands
from tests.support.left_behind import left_behind
from tests.support.machine.node import SELECTOR, TOLERATION

pytestmark = [pytest.mark.integration, pytest.mark.more, pytest.mark.slow, pytest.mark.timeout(900)]
Json = dict[str, Any]
_FOLDER = {"Policies": "default", "Webhook": "default-webhook"}
_OVER = "--force-conflicts"
"""Who provides a certificate takes `caBundle` over from the webhook."""
_INSTALL = (ROOT / "docs" / "install.md").read_text()


def certificate() -> list[str]:
    """The commands and the lines for a certificate of one's own, as the document has them."""
    part = _INSTALL[_INSTALL.index("**To provide a certificate**") :]
    found = re.findall(r"```(?:console|yaml)\n(.*?)```", part, re.DOTALL)
    return list(found[:2])


@dataclass(frozen=True)
class Wanted:
    """What a kustomization builds: of which files and image. `older` is a program that is of the last release.

    With `provides` the webhook's certificate is one's own.
    """

    files: Path
    tag: str
    folders: Sequence[str]
    components: Sequence[str] = ()
    older: str = ""
    provides: bool = False


async def apply(site: Site, wanted: Wanted, options: str = "") -> None:
    """Write the kustomization beside a checkout of the files, as the document shows it, and apply it."""
    checkout = site.terminal.folder / "penstock"
    shutil.rmtree(checkout, ignore_errors=True)
    shutil.copytree(wanted.files / "config", checkout / "config")
    spec: Json = {"nodeSelector": SELECTOR, "tolerations": [TOLERATION]}
    patches = [patched("Deployment", "", spec)]
    if wanted.older:
        image = f"registry.example.com/penstock:{site.previous_version}"
        older = {"containers": [{"name": wanted.older, "image": image}]}
        patches.append(patched("Deployment", f"penstock-{wanted.older}", older))
    document = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [f"penstock/config/{name}" for name in wanted.folders],
        "components": [f"penstock/config/components/{name}" for name in wanted.components],
        "images": [{"name": "penstock", "newName": "registry.example.com/penstock", "newTag": wanted.tag}],
        "patches": patches,
    }
    text = "".join(f"{key}: {json.dumps(value)}\n" for key, value in document.items())
    if wanted.provides:
        text += certificate()[1]
    (site.terminal.folder / "kustomization.yaml").write_text(text)
    await site.terminal.succeed(f"kubectl apply --server-side -k . {options}")
    await site.ready()


def patched(kind: str, name: str, spec: Json) -> Json:
    """A patch of the pods of these objects; without a name of all of the kind."""
    patch = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name or "any"}}
    target = {"kind": kind, **({"name": name} if name else {})}
    return {"target": target, "patch": json.dumps({**patch, "spec": {"template": {"spec": spec}}})}


@pytest.mark.parametrize("gate", ["Policies", "Webhook"])
@pytest.mark.parametrize("kubernetes", VERSIONS)
async def test_what_is_applied_changes_goes_back_and_goes(
    site: Callable[[str], AbstractAsyncContextManager[Site]], kubernetes: str, gate: str
) -> None:
    async with site(kubernetes) as there:
        await there.terminal.succeed(certificate()[0])
        basis = [_FOLDER[gate]]
        before = Wanted(there.previous, there.previous_version, basis, provides=gate == "Webhook")
        more = [*basis, "server"] if gate == "Policies" else basis
        after = Wanted(ROOT, "next", more, ["pod-policies"])
        await apply(there, before)
        await there.begin()
        await apply(there, after)
        await there.goes_on()
        # a webhook of the last release makes no certificate itself
        provided = replace(after, components=[*after.components, "provided-certificate"], provides=True)
        await apply(there, replace(provided, older="webhook"), _OVER)
        await there.goes_on()
        await apply(there, replace(after, older="controller"))
        await there.goes_on()
        await there.terminal.succeed("kubectl delete -k penstock/config/components/pod-policies")
        await apply(there, before, _OVER)
        await there.goes_on()
        await apply(there, after)
        await there.goes_on()
        for _, command in commands("uninstall.md", leaving_out="with Helm"):
            await there.terminal.succeed(command)
        await there.all_run()
        assert await left_behind(there.team.client) == []

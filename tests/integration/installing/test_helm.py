"""A release of the chart by Helm: installed, upgraded from the last release, rolled back and uninstalled."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from controller.sandbox.versions import DEFAULT, VERSIONS
from tests.integration.installing.site import Site
from tests.support.documented import ROOT, commands
from tests.support.left_behind import API_SERVICES, CRDS, NAMESPACES, left_behind
from tests.support.machine.node import SELECTOR, TOLERATION
from tests.support.team import is_gated

pytestmark = [pytest.mark.integration, pytest.mark.more, pytest.mark.slow, pytest.mark.timeout(900)]
_MANY = 10_000
_PLACED = {"nodeSelector": SELECTOR, "tolerations": [TOLERATION]}


def values(gate: str, tag: str, **others: Any) -> str:
    """Those of a release whose programs are of this image."""
    image = {"repository": "registry.example.com/penstock", "tag": tag}
    given = {"image": image, "gate": {"mode": gate}, "controller": _PLACED, "webhook": _PLACED, **others}
    return f"--values <(echo {shlex.quote(json.dumps(given))})"


async def helm(site: Site, what: str, chart: Path | None = None, given: str = "") -> None:
    """Run one command of Helm on the release, and wait until its programs are there."""
    where = f"{chart} " if chart else ""
    await site.terminal.succeed(f"helm {what} {where}--namespace penstock-system {given}")
    await site.ready()


MORE = {"podPolicies": {"enabled": True}, "visibility": {"enabled": True}}
"""What a release has after its upgrade that it had not before."""


@pytest.mark.parametrize("gate", ["Policies", "Webhook"])
@pytest.mark.parametrize("kubernetes", VERSIONS)
async def test_a_release_comes_changes_goes_back_and_goes(
    site: Callable[[str], AbstractAsyncContextManager[Site]], kubernetes: str, gate: str
) -> None:
    async with site(kubernetes) as there:
        old, new = there.previous / "deploy" / "chart", ROOT / "deploy" / "chart"
        await helm(there, "install penstock", old, f"--create-namespace {values(gate, there.previous_version)}")
        await there.begin()
        await helm(there, "upgrade penstock", new, values(gate, "next", **MORE))
        await there.goes_on()
        # a replica of the newer version may write its authority until it has ended
        forced = "--force-conflicts" if gate == "Webhook" else ""
        await helm(there, "rollback penstock 1", given=forced)
        await there.goes_on()
        await helm(there, "upgrade penstock", new, f"{values(gate, 'next', **MORE)} {forced}")
        await there.goes_on()
        for _, command in commands("uninstall.md", leaving_out="with kustomize"):
            await there.terminal.succeed(command)
        await there.all_run()
        assert await left_behind(there.team.client) == []


@pytest.mark.parametrize("gate", ["Policies", "Webhook"])
async def test_the_test_of_the_chart_finds_what_is_wrong(
    site: Callable[[str], AbstractAsyncContextManager[Site]], gate: str
) -> None:
    async with site(DEFAULT) as there:
        given = values(gate, "next", **MORE)
        await helm(there, "install penstock", ROOT / "deploy" / "chart", f"--create-namespace {given}")
        await there.begin()
        found = await there.terminal.succeed("helm test penstock --namespace penstock-system --logs")
        assert "Phase:          Succeeded" in found
        assert "0 errors" in found
        await there.terminal.succeed("kubectl -n penstock-system scale deployment penstock-controller --replicas=0")
        gone = "--for=delete pod -l app.kubernetes.io/name=penstock-controller --timeout=60s"
        await there.terminal.succeed(f"kubectl -n penstock-system wait {gone}")
        wrong = await there.terminal.run("helm test penstock --namespace penstock-system --logs")
        assert wrong.code == 1
        assert "no available replica" in wrong.output


@pytest.mark.parametrize("gate", ["Policies", "Webhook"])
async def test_uninstalling_alone_releases_all_that_waits(
    site: Callable[[str], AbstractAsyncContextManager[Site]], gate: str
) -> None:
    async with site(DEFAULT) as there:
        given = values(gate, "next", uninstall={"releaseAll": True})
        await helm(there, "install penstock", ROOT / "deploy" / "chart", f"--create-namespace {given}")
        await there.begin()
        await there.terminal.succeed("helm uninstall penstock --namespace penstock-system")
        await there.all_run()
        left = await left_behind(there.team.client)
        # the kinds stay, and with them what the apiserver makes of them
        assert {one.rpartition("/")[0] for one in left} == {CRDS, NAMESPACES, API_SERVICES}


async def test_a_rendered_chart_is_applied_and_upgraded(
    site: Callable[[str], AbstractAsyncContextManager[Site]],
) -> None:
    """As tools do that only render charts."""
    async with site(DEFAULT) as there:

        async def apply(chart: Path, given: str) -> None:
            render = f"helm template penstock {chart} --namespace penstock-system {given}"
            await there.terminal.succeed(f"set -o pipefail; {render} | kubectl apply --server-side -f -")
            await there.ready()

        await there.terminal.succeed("kubectl create namespace penstock-system")
        await apply(there.previous / "deploy" / "chart", values("Policies", there.previous_version))
        await there.begin()
        await apply(ROOT / "deploy" / "chart", values("Policies", "next", visibility={"enabled": True}))
        await there.goes_on()


async def test_an_upgrade_finds_many_pods_waiting(site: Callable[[str], AbstractAsyncContextManager[Site]]) -> None:
    async with site(DEFAULT) as there:
        old, new = there.previous / "deploy" / "chart", ROOT / "deploy" / "chart"
        await helm(there, "install penstock", old, f"--create-namespace {values('Policies', there.previous_version)}")
        await there.begin()
        await there.team.pods(_MANY, prefix="many")
        await helm(there, "upgrade penstock", new, values("Policies", "next", **MORE))
        await there.goes_on()
        assert len([name for name, pod in (await there.team.all()).items() if is_gated(pod)]) > _MANY

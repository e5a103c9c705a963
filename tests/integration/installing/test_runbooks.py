"""The commands of the runbooks, run as they stand on an installation with everything that they are about."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest

from controller.sandbox.versions import DEFAULT
from tests.integration.installing.site import Site
from tests.integration.installing.test_helm import MORE, helm, values
from tests.support import promtool
from tests.support.documented import ROOT
from tests.support.notices import a_receiver, a_route
from tests.support.receiving import a_server

pytestmark = [pytest.mark.integration, pytest.mark.more, pytest.mark.slow, pytest.mark.timeout(600)]
_TEXT = (ROOT / "docs" / "runbooks.md").read_text()
_INLINE = re.compile(r"`((?:kubectl|penstock) [^`]+)`")
_BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
_FINDS = 1
"""Exit code of doctor where it finds something, which is no fault of the command."""


def commands() -> list[str]:
    """All of them, each once, in the order of the page."""
    found = [line for block in _BLOCK.findall(_TEXT) for line in block.splitlines()]
    inline = [" ".join(one.split()) for one in _INLINE.findall(_BLOCK.sub("", _TEXT))]
    # one with a verb alone, such as `penstock usage`, names a command and is none
    return list(dict.fromkeys([*found, *(one for one in inline if len(one.split()) > 2)]))


def test_every_alert_leads_to_a_section_of_the_page() -> None:
    titles = re.findall(r"^## (.*)$", _TEXT, re.MULTILINE)
    headings = {re.sub(r"[^a-z -]", "", title.lower()).replace(" ", "-") for title in titles}
    led = {rule["annotations"]["runbook_url"].partition("#")[2] for rule in promtool.alerts().values()}
    assert led <= headings
    assert len(commands()) > 8


async def test_the_commands_of_runbooks_run(site: Callable[[str], AbstractAsyncContextManager[Site]]) -> None:
    async with site(DEFAULT) as there, a_server() as server:
        given = values("Webhook", "next", **MORE)
        await helm(there, "install penstock", ROOT / "deploy" / "chart", f"--create-namespace {given}")
        await there.begin()
        waiting = next(iter(await there.waiting()))
        receivers = {"receivers": [a_receiver(url=server.url("/hook"))], "routes": [a_route()]}
        (there.terminal.folder / "receivers.yaml").write_text(str(receivers))
        names = {"pod/NAME": f"pod/{waiting}", "NAMESPACE": there.team.namespace, "FILE": "receivers.yaml"}
        for command in commands():
            for placeholder, name in names.items():
                command = command.replace(placeholder, name)
            done = await there.terminal.run(command)
            assert done.code in ((0, _FINDS) if command == "penstock doctor" else (0,)), f"{command}: {done}"
        await there.ready()

"""Outages of the webhook: it hangs, which is the worst way in which it can be away."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from tests.integration.protection.conftest import Protected
from tests.integration.protection.people import Field
from tests.integration.protection.table import QUEUED_LABELS, Create, Who
from tests.support.eventually import eventually
from tests.support.impersonation import Reply, impersonation


class Outage:
    """The webhook of a cluster hangs from time to time."""

    def __init__(self, protected: Protected) -> None:
        self._protected = protected
        self._webhook = protected.programs.webhook

    @asynccontextmanager
    async def there(self) -> AsyncIterator[None]:
        """The webhook hangs for as long as the block runs, and answers after it."""
        self.begin()
        try:
            yield
        finally:
            await self.until_over()

    def begin(self) -> None:
        self._webhook.process.send_signal(signal.SIGSTOP)

    def end(self) -> None:
        self._webhook.process.send_signal(signal.SIGCONT)

    @asynccontextmanager
    async def over(self) -> AsyncIterator[None]:
        """The webhook answers for as long as the block runs."""
        try:
            await self.until_over()
            yield
        finally:
            self.begin()

    async def until_over(self) -> None:
        """End the outage, and wait until the webhook answers.

        It does so a moment after it continues: until then the apiserver passes over the entry that adds the gate.
        """
        self.end()
        await eventually(partial(accepts_a_queued_pod, self._protected), message="the webhook does not answer")


async def creating_a_queued_pod(protected: Protected) -> Reply:
    """What the apiserver answers to an editor who creates a queued pod, as a dry run."""
    async with protected.sandbox.client() as client, impersonation(protected.sandbox) as apiserver:
        return await Field(client, apiserver, protected.namespaces).send(Who.EDITOR, Create(QUEUED_LABELS))


async def accepts_a_queued_pod(protected: Protected) -> bool:
    return (await creating_a_queued_pod(protected)).code < 300

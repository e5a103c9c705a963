"""What a kubelet serves to the apiserver of the machine's pods: their logs."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

from controller.sandbox import Sandbox
from tests.support.machine.pod_process import PodProcess


@asynccontextmanager
async def serving_logs(
    sandbox: Sandbox, folder: Path, named: Callable[[str], Sequence[PodProcess]]
) -> AsyncIterator[int]:
    """Serve on loopback what the processes wrote; yield the port."""

    async def answer(request: web.Request) -> web.Response:
        found = [one for one in named(request.match_info["pod"]) if one.log.exists()]
        if not found:
            raise web.HTTPNotFound
        return web.Response(body=found[-1].log.read_bytes(), content_type="text/plain")

    pair = sandbox.serving_certificate()
    for name, pem in (("kubelet.crt", pair.certificate_pem), ("kubelet.key", pair.key_pem)):
        (folder / name).write_bytes(pem)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "kubelet.crt", folder / "kubelet.key")
    application = web.Application()
    application.router.add_get("/containerLogs/{namespace}/{pod}/{container}", answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()

"""The least that a webhook in Python can be, to measure the machine with: it parses a review and lets it by.

Run as a program it says its port on the first line.
"""

from __future__ import annotations

import asyncio
import ssl
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson
import uvloop
from aiohttp import web

from controller.kube import clock
from controller.telemetry.authority import Authority

_ANSWER = b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"","allowed":true}}'


async def _answer(request: web.Request) -> web.Response:
    orjson.loads(await request.read())
    return web.Response(body=_ANSWER, content_type="application/json")


def _context() -> ssl.SSLContext:
    now = clock.now()
    pair = Authority.create("bare", now=now, days=1).serving([], ["127.0.0.1"], now=now, days=1)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    with TemporaryDirectory() as folder:
        certificate, key = Path(folder, "certificate"), Path(folder, "key")
        certificate.write_bytes(pair.certificate_pem)
        key.write_bytes(pair.key_pem)
        context.load_cert_chain(certificate, key)
    return context


async def _serve() -> None:
    app = web.Application()
    app.router.add_post("/mutate/pods", _answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=_context()).start()
    sys.stdout.write(f"{runner.addresses[0][1]}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(_serve())

"""`python -m controller.dashboard`: the page in a cluster, for everybody who signs in."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import replace
from pathlib import Path

import click
from prometheus_client import CollectorRegistry

from controller.dashboard.files import Files, NotBuilt
from controller.dashboard.server import Dashboard
from controller.dashboard.token_viewers import TokenViewers
from controller.kube import config
from controller.kube.client import Client
from controller.kube.connection import nobody
from controller.telemetry import http, logs
from controller.telemetry.logs import LogFormat, LogLevel
from controller.telemetry.options import connection_options
from controller.telemetry.program import CONTEXT_SETTINGS, AddressType, log_options, run_program
from controller.telemetry.tls import Certificate, CertificateError

_log = logs.get("dashboard")


@click.command(name="python -m controller.dashboard", context_settings=CONTEXT_SETTINGS)
@connection_options
@click.option("--address", type=AddressType(), default="0.0.0.0:8443", help="Where the page is served, over TLS.")
@click.option("--http-address", type=AddressType(), default="127.0.0.1:8082", help="Where health and metrics listen.")
@click.option("--tls-cert", type=click.Path(path_type=Path), required=True, help="Certificate chain, PEM.")
@click.option("--tls-key", type=click.Path(path_type=Path), required=True, help="Its private key, PEM.")
@log_options
def main(
    kubeconfig: str | None,
    context: str | None,
    address: http.Address,
    http_address: http.Address,
    tls_cert: Path,
    tls_key: Path,
    log_level: LogLevel,
    log_format: LogFormat,
) -> None:
    """Serve the page in a cluster: each viewer signs in with a token, and sees what that token may see.

    The server needs no rights. The certificate is read again when its files change. Every option can be given as an
    environment variable, such as PENSTOCK_TLS_CERT.
    """
    try:
        certificate, files = Certificate(tls_cert, tls_key), Files.read()
    except (CertificateError, NotBuilt) as error:
        raise click.ClickException(str(error)) from None
    run_program(_run(kubeconfig, context, address, http_address, certificate, files), level=log_level, form=log_format)


async def _run(
    kubeconfig: str | None,
    context: str | None,
    address: http.Address,
    http_address: http.Address,
    certificate: Certificate,
    files: Files,
) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    # whoever asks brings credentials of their own; ours are for nobody
    connection = replace(
        await config.load(kubeconfig, context), authorization=nobody, cert_file=None, key_file=None, acting_as=None
    )
    observing = http.endpoints(CollectorRegistry(), ready=lambda: None, healthy=lambda: None)
    async with Client(connection, user_agent="penstock-dashboard") as client:
        page = Dashboard(TokenViewers(client), files, cluster=connection.host, namespace="", is_ours=bool)
        async with (
            page.app() as app,
            http.serving(observing, http_address) as observed,
            http.serving(app, address, tls=certificate) as served,
            asyncio.TaskGroup() as group,
        ):
            _log.info("listening", what="http", host=observed.host, port=observed.port)
            _log.info("listening", what="page", host=served.host, port=served.port)
            watching = group.create_task(certificate.watch(), name="certificate")
            await stop.wait()
            watching.cancel()


if __name__ == "__main__":
    main()

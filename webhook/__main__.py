"""`python -m webhook`: the webhook's options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from controller.core.keys import BREAK_GLASS
from controller.core.kubernetes.names import is_dns_subdomain
from controller.core.scheduling_policies.policy import MergeOption
from controller.telemetry.logs import LogFormat, LogLevel
from controller.telemetry.options import connection_options
from controller.telemetry.program import CONTEXT_SETTINGS, AddressType, log_options, run_program
from controller.telemetry.tls import Certificate, CertificateError, Clients
from webhook.app import run
from webhook.settings import Settings


def _class_name(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is not None and not is_dns_subdomain(value):
        raise click.BadParameter(
            f"{value!r} cannot be the name of a RuntimeClass; write one such as gvisor, in lower case",
            ctx=ctx,
            param=param,
        )
    return value


def _group_name(ctx: click.Context, param: click.Parameter, value: str) -> str:
    if not value.strip() or value.startswith("system:"):
        raise click.BadParameter(
            f"{value!r} cannot be the break-glass group; write a name of its own such as {BREAK_GLASS}, which nobody "
            "has every day",
            ctx=ctx,
            param=param,
        )
    return value


def _secured(certificate: Path | None, key: Path | None, clients: Clients) -> Certificate | Clients:
    if (certificate is None) != (key is None):
        raise click.UsageError("--tls-cert and --tls-key belong together; give both, or neither")
    try:
        return clients if certificate is None or key is None else Certificate(certificate, key, clients)
    except CertificateError as error:
        raise click.ClickException(str(error)) from None


@click.command(name="python -m webhook", context_settings=CONTEXT_SETTINGS)
@connection_options
@click.option("--address", type=AddressType(), default="0.0.0.0:9443", help="Where reviews are answered, over TLS.")
@click.option("--http-address", type=AddressType(), default="127.0.0.1:8081", help="Where health and metrics listen.")
@click.option(
    "--tls-cert",
    type=click.Path(path_type=Path),
    help="Certificate chain, PEM; default: the webhook signs its own, and tells the apiserver to trust it.",
)
@click.option("--tls-key", type=click.Path(path_type=Path), help="Its private key, PEM.")
@click.option(
    "--client-ca-file",
    type=click.Path(path_type=Path),
    help="Certificate authorities, PEM: only clients with a certificate from one of them are served.",
)
@click.option(
    "--client-name",
    multiple=True,
    metavar="NAME",
    help="Common name or DNS name that a client's certificate must have; repeatable; default: any.",
)
@click.option(
    "--runtime-classes",
    is_flag=True,
    help="Merge what a pod's RuntimeClass requires, and apply the defaults of namespaces.",
)
@click.option(
    "--default-runtime-class",
    metavar="NAME",
    callback=_class_name,
    help="RuntimeClass of pods that name none, where their namespace has no default; implies --runtime-classes.",
)
@click.option(
    "--trusted-user",
    multiple=True,
    metavar="NAME",
    default=("system:serviceaccount:penstock-system:penstock-controller",),
    help="User who may write Penstock's keys and open its gate, and whose updates of pods no policy checks; "
    "repeatable.",
)
@click.option(
    "--template-controller",
    multiple=True,
    metavar="NAME",
    help="User who creates ReplicaSets, ReplicationControllers and Jobs from templates of its own; policies for "
    "templates do not change these; repeatable.",
)
@click.option(
    "--break-glass-group",
    metavar="NAME",
    default=BREAK_GLASS,
    show_default=True,
    callback=_group_name,
    help="Group whose members may do what the protection of the gate forbids everybody else.",
)
@click.option("--pod-policies", is_flag=True, help="Apply ClusterPodSchedulingPolicies and PodSchedulingPolicies.")
@click.option(
    "--scheduling-policies",
    is_flag=True,
    help="Check pods against the SchedulingPolicies that their service accounts may use; implies --runtime-classes.",
)
@click.option(
    "--scheduling-policy-merge",
    type=click.Choice([option.value for option in MergeOption]),
    default=MergeOption.DEEP_MERGE.value,
    help="How several SchedulingPolicies are merged.",
)
@log_options
def main(
    *,
    tls_cert: Path | None,
    tls_key: Path | None,
    client_ca_file: Path | None,
    client_name: tuple[str, ...],
    trusted_user: tuple[str, ...],
    template_controller: tuple[str, ...],
    scheduling_policy_merge: str,
    log_level: LogLevel,
    log_format: LogFormat,
    **options: Any,
) -> None:
    """Add the gate to pods that name a queue when they are created, and apply the policies that are enabled.

    A certificate in files is read again when they change; one of its own is renewed in time. Every option can be given
    as an environment variable, such as PENSTOCK_TLS_CERT.
    """
    if client_name and client_ca_file is None:
        raise click.UsageError("--client-name means nothing without --client-ca-file; give both, or neither")
    secured = _secured(tls_cert, tls_key, Clients(client_ca_file, frozenset(client_name)))
    settings = Settings(
        trusted_users=frozenset(trusted_user),
        template_controllers=frozenset(template_controller),
        scheduling_policy_merge=MergeOption(scheduling_policy_merge),
        # the others are called as they are on the command line
        **options,
    )
    run_program(run(settings, secured), level=log_level, form=log_format)


if __name__ == "__main__":
    main()

"""Find and read the connection settings: a kubeconfig, else the pod's service account.

kubernetes-asyncio reads kubeconfigs (contexts, exec plugins, OIDC, token refresh); this module turns its many ways to
fail into one clear line. It is imported only where there is one to read: it takes 35 MiB and a third of a second.
No request is made here.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from controller.kube import service_account
from controller.kube.connection import Connection
from controller.kube.errors import ConfigError, Unreachable, one_line
from controller.kube.impersonation import read_acting_as

if TYPE_CHECKING:
    from kubernetes_asyncio.client.configuration import Configuration


async def load(kubeconfig: str | None = None, context: str | None = None) -> Connection:
    """Return the settings of `kubeconfig`, of $KUBECONFIG, of the pod, or of ~/.kube/config: the first there is.

    Raises ConfigError with the file, the fault and what to do.
    """
    named = kubeconfig or os.environ.get("KUBECONFIG")
    if named is None and service_account.is_in_pod():
        return service_account.connection()
    joined = _existing(named)
    _check_context(joined, context)
    return replace(await _read(joined, context), acting_as=read_acting_as(joined, _contents(joined), context))


async def _read(joined: str, context: str | None) -> Connection:
    from kubernetes_asyncio.client.configuration import Configuration
    from kubernetes_asyncio.config import load_kube_config
    from kubernetes_asyncio.config.config_exception import ConfigException

    configuration = Configuration(host="")
    try:
        await load_kube_config(config_file=joined, context=context, client_configuration=configuration)
    except yaml.YAMLError as error:
        raise ConfigError(f"kubeconfig {joined}: not YAML: {one_line(error)}") from error
    except (ConfigException, OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigError(f"kubeconfig {joined}: {one_line(error)}") from error
    except AssertionError:
        configuration.host = ""  # the library asserts that the cluster says anything at all
    if not configuration.host:
        raise ConfigError(
            f"kubeconfig {joined}: the context's cluster has no server; give it server: https://HOST:PORT"
        )
    return _connection(configuration)


def _connection(found: Configuration) -> Connection:
    from kubernetes_asyncio.config.config_exception import ConfigException

    async def authorization() -> str:
        if "BearerToken" in found.api_key:
            try:
                token = await found.get_api_key_with_prefix("BearerToken")
            except (ConfigException, OSError) as error:
                raise Unreachable(f"the token cannot be read: {error}") from error
            # token files end in a newline more often than not, and no header may hold one
            return "".join(str(token).splitlines()).strip()
        return str(found.get_basic_auth_token()) if found.username and found.password else ""

    return Connection(
        host=str(found.host),
        ca_file=found.ssl_ca_cert,
        cert_file=found.cert_file,
        key_file=found.key_file,
        verify_tls=bool(found.verify_ssl),
        tls_server_name=found.tls_server_name,
        proxy=found.proxy,
        authorization=authorization,
    )


def namespace(kubeconfig: str | None = None, context: str | None = None) -> str:
    """Return the namespace that the connection settings of `load` name for whoever names none: `default` by default.

    Raises ConfigError.
    """
    named = kubeconfig or os.environ.get("KUBECONFIG")
    if named is None and service_account.is_in_pod():
        return service_account.namespace()
    from kubernetes_asyncio.config import list_kube_config_contexts
    from kubernetes_asyncio.config.config_exception import ConfigException

    joined = _existing(named)
    _check_context(joined, context)
    try:
        contexts, current = list_kube_config_contexts(joined)
    except (ConfigException, OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigError(f"kubeconfig {joined}: {one_line(error)}") from error
    chosen = next((one for one in contexts if one["name"] == context), None) if context else current
    return str(((chosen or {}).get("context") or {}).get("namespace") or "default")


def _existing(named: str | None) -> str:
    paths = [Path(part).expanduser() for part in (named or "~/.kube/config").split(os.pathsep) if part]
    if not any(path.is_file() for path in paths):
        where = "--kubeconfig or KUBECONFIG" if named else "the default kubeconfig"
        listed = ", ".join(map(str, paths)) or "(empty)"
        fault = "is a directory, not a file" if any(path.is_dir() for path in paths) else "no such file"
        raise ConfigError(f"{where}: {fault}: {listed}; name one with --kubeconfig FILE or set KUBECONFIG")
    for path in paths:
        if path.is_file():
            _check_shape(path)
    return os.pathsep.join(map(str, paths))


def _check_context(joined: str, context: str | None) -> None:
    """Refuse a context that is not there: the library's words for that do not say which there are."""
    contents = _contents(joined)
    named = context or next((found for one in contents if (found := one.get("current-context"))), None)
    known = [str(entry.get("name")) for one in contents for entry in one.get("contexts") or ()]
    if named in known:
        return
    if named is None:
        what = "it has no current-context"
    else:
        what = f"there is no context {named!r}" if context else f"current-context: {named!r} is none of its contexts"
    there = f"name one of {', '.join(known)} with --context" if known else "it has no contexts: add one"
    raise ConfigError(f"kubeconfig {joined}: {what}; {there}")


def _contents(joined: str) -> list[Any]:
    files = [file for part in joined.split(os.pathsep) if (file := Path(part)).is_file()]
    return [yaml.safe_load(file.read_text(encoding="utf-8")) for file in files]


def _check_shape(path: Path) -> None:
    """Refuse what is no kubeconfig at all: the library's words for that help nobody."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, RecursionError) as error:
        raise ConfigError(f"kubeconfig {path}: not YAML: {one_line(error)}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"kubeconfig {path}: cannot be read: {one_line(error)}") from error
    if not isinstance(content, dict):
        raise ConfigError(f"kubeconfig {path}: is empty or no kubeconfig; it must have clusters, contexts and users")
    for part in ("clusters", "contexts", "users"):
        entries = content.get(part)
        if entries is not None and not (isinstance(entries, list) and all(isinstance(e, dict) for e in entries)):
            raise ConfigError(f"kubeconfig {path}: {part}: must be a list of objects with a name")

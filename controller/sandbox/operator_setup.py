"""What an operator needs in the cluster before it starts: CRDs, rights, and a kubeconfig for its ServiceAccount.

Blocking, for the supervisor, which has no Kubernetes client and need not read YAML: `operator_builds` has written each
request beside the program. What else is to be awaited is told as addresses.
"""

from __future__ import annotations

import http.client
from pathlib import Path
from typing import Any

import orjson

from controller.sandbox import probe
from controller.sandbox.certificates import kubeconfig
from controller.sandbox.errors import SandboxError
from controller.sandbox.files import write_private
from controller.sandbox.layout import Layout
from controller.sandbox.operators import Operator

_SECONDS = 30.0
_TOKEN_SECONDS = 365 * 24 * 3600
_APPLY = "?fieldManager=penstock-sandbox&force=true"
_DEFINITION = "CustomResourceDefinition"
_PATHS = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": "/api/v1/namespaces/{namespace}/serviceaccounts",
    _DEFINITION: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
}


def request_for(document: dict[str, Any]) -> dict[str, Any]:
    """Return the request that applies an object: its path and its body."""
    metadata = document["metadata"]
    collection = _PATHS[document["kind"]].format(namespace=metadata.get("namespace", ""))
    return {"path": f"{collection}/{metadata['name']}", "body": document}


def prepare(operator: Operator, program: str, layout: Layout, url: str) -> list[str]:
    """Apply the operator's objects and write its kubeconfig; return the addresses of what is then to be served.

    Server-side: an annotation of the client's could not hold CRDs of this size. Raises SandboxError.
    """
    requests = orjson.loads(Path(f"{program}.json").read_bytes())
    for request in requests:
        _send(layout, url, "PATCH", request["path"] + _APPLY, request["body"])
    account = f"{_PATHS['ServiceAccount'].format(namespace=operator.namespace)}/{operator.account}"
    wanted = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": _TOKEN_SECONDS},  # the program reads its kubeconfig only once
    }
    token = _send(layout, url, "POST", f"{account}/token", wanted)["status"]["token"]
    write_private(kubeconfig_of(operator, layout), kubeconfig(layout, url, {"token": token}))
    definitions = [request["body"]["spec"] for request in requests if request["body"]["kind"] == _DEFINITION]
    return [
        f"{url}/apis/{one['group']}/{version['name']}/{one['names']['plural']}"
        for one in definitions
        for version in one["versions"]
        if version["served"]
    ]


def kubeconfig_of(operator: Operator, layout: Layout) -> Path:
    """The file by which the operator acts as its ServiceAccount."""
    return layout.kubeconfigs / operator.program


def _send(layout: Layout, url: str, method: str, path: str, body: dict[str, Any]) -> Any:
    form = "application/apply-patch+yaml" if method == "PATCH" else "application/json"  # JSON is YAML, too
    try:
        with probe.connected(url, ca=layout.ca, client=layout.pki / "admin", seconds=_SECONDS) as connection:
            connection.request(method, path, orjson.dumps(body), {"Content-Type": form})
            answer = connection.getresponse()
            text = answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise SandboxError(f"{path}: {error}") from error
    if not 200 <= answer.status < 300:
        raise SandboxError(f"{path}: the apiserver answers {answer.status}: {text[:500].decode(errors='replace')}")
    return orjson.loads(text)

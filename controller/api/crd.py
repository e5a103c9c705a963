"""The CustomResourceDefinitions of our kinds, rendered from their models. Writing files belongs to `generate`."""

from __future__ import annotations

from typing import Any

import yaml
from pydantic import BaseModel

from controller.api.base import NAME_LIMIT, NAME_LIMIT_MESSAGE, Column, Resource
from controller.api.cluster_queue import ClusterQueue
from controller.api.flavor import ResourceFlavor
from controller.api.local_queue import LocalQueue
from controller.api.pod_policy import ClusterPodSchedulingPolicy, PodSchedulingPolicy
from controller.api.rules import Rule, rules
from controller.api.scheduling_policy import SchedulingPolicy
from controller.api.schema import NotStructural, Schema, structural
from controller.api.workload_kind import WorkloadKind
from controller.api.workload_priority_class import WorkloadPriorityClass
from controller.core.keys import GROUP, VERSION

KINDS: tuple[type[Resource], ...] = (
    ClusterPodSchedulingPolicy,
    ClusterQueue,
    LocalQueue,
    PodSchedulingPolicy,
    ResourceFlavor,
    SchedulingPolicy,
    WorkloadKind,
    WorkloadPriorityClass,
)

_HEADER = "# Rendered from controller/api by `make generate`. Change the models, not this file.\n---\n"
_LINE_WIDTH = 120
_NAME_RULE = Rule(
    f"self.metadata.name.size() <= {NAME_LIMIT}",
    f"metadata.name {NAME_LIMIT_MESSAGE}",
    f"'\"' + self.metadata.name + '\": metadata.name {NAME_LIMIT_MESSAGE}'",
    field_path=".metadata.name",
)
_API_VERSION = "The version of this object's schema."
_KIND = "The kind of this object."


def render(kind: type[Resource]) -> dict[str, Any]:
    """Return the CustomResourceDefinition of `kind`, a plain JSON object."""
    definition = kind.definition
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": definition.resource, "labels": {"app.kubernetes.io/part-of": "penstock"}},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced" if definition.namespaced else "Cluster",
            "names": {
                "kind": definition.kind,
                "listKind": f"{definition.kind}List",
                "plural": definition.plural,
                "singular": definition.kind.lower(),
                "shortNames": [definition.short_name],
                "categories": ["penstock"],
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    **_subresources(kind),
                    "additionalPrinterColumns": [_column(column) for column in definition.columns],
                    "schema": {"openAPIV3Schema": root_schema(kind)},
                }
            ],
        },
    }


def render_files() -> dict[str, str]:
    """Return the text of each file of config/crd by its name."""
    files = {f"{GROUP}_{kind.definition.plural}.yaml": _HEADER + _dump(render(kind)) for kind in KINDS}
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": sorted(files),
    }
    files["kustomization.yaml"] = _HEADER + _dump(kustomization)
    return files


def root_schema(kind: type[Resource]) -> Schema:
    """Return the schema of a whole object of `kind`."""
    # The apiserver owns and checks metadata; of it a CRD may restrict the name alone, which the rule does.
    properties: Schema = {
        "apiVersion": {"type": "string", "description": _API_VERSION},
        "kind": {"type": "string", "description": _KIND},
        "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
        **{part: structural(_model(kind, part)) for part in ("spec", "status") if part in kind.model_fields},
    }
    described = " ".join((kind.__doc__ or "").split())
    return {
        "type": "object",
        "description": described,
        "properties": properties,
        "required": ["spec"],
        **_rules_of_whole(kind),
    }


def _rules_of_whole(kind: type[Resource]) -> dict[str, Any]:
    found = (*((_NAME_RULE,) if kind.definition.is_label_value else ()), *kind.definition.rules)
    return rules(*found) if found else {}


def _subresources(kind: type[Resource]) -> dict[str, Any]:
    return {"subresources": {"status": {}}} if "status" in kind.model_fields else {}


def _model(kind: type[Resource], part: str) -> type[BaseModel]:
    annotation = kind.model_fields[part].annotation
    if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        raise NotStructural(f"{kind.__name__}.{part}: is not a model")
    return annotation


def _column(column: Column) -> dict[str, Any]:
    rendered: dict[str, Any] = {
        "name": column.name,
        "type": column.type,
        "jsonPath": column.path,
        "description": column.description,
    }
    if column.priority:
        rendered["priority"] = column.priority
    return rendered


class _Dumper(yaml.SafeDumper):
    """Writes no anchors: the same rule on two fields is written twice."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)  # lists stand in from their key, as yamllint wants them


def _dump(document: dict[str, Any]) -> str:
    return yaml.dump(document, Dumper=_Dumper, sort_keys=True, width=_LINE_WIDTH, allow_unicode=True)

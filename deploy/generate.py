"""`python -m deploy.generate`: write the chart's templates from config/. `make generate` runs it.

config/ is what is true; a template is its text with what Helm users may set put in. What has no counterpart there
(the certificate, the names that templates share, NOTES.txt) is written by hand in `deploy/chart/templates`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from controller.sandbox.features import patched

ROOT = Path(__file__).resolve().parents[1]
CONFIG = ROOT / "config"
DESTINATION = ROOT / "deploy" / "chart" / "templates" / "generated"

_FOLDERS = ("crd", "rbac", "policy", "webhook", "guards", "warnings", "server", "manager")
_LEFT_OUT = {"kustomization.yaml", "namespace.yaml"}
"""A chart is not kustomize's business, and the release's namespace is Helm's."""

_CERTIFICATE = 'and ({} .Values.certificate.source "{}") (include "penstock.hasServer" .)'
_OTHER_CONDITIONS = {
    "cert-manager": _CERTIFICATE.format("eq", "cert-manager"),
    "network-policy-history": "and .Values.networkPolicy.enabled .Values.history.enabled",
    "network-policy-notifications": "and .Values.networkPolicy.enabled .Values.notifications.enabled",
    "provided-certificate": _CERTIFICATE.format("ne", "generated"),  # in config/, cert-manager brings it
}
"""Of components whose value is not `<name>.enabled`."""
_BESIDE_SERVER = {
    "service.yaml": 'include "penstock.hasServer" .',
    "certificate.yaml": _CERTIFICATE.format("eq", "generated"),
}

_VALUED_ARGUMENTS = {
    "runtime-class": {"default": "--default-runtime-class"},
    "scheduling-policies": {"merge": "--scheduling-policy-merge"},
}
"""Options of the webhook that carry a value of their component, when it is set."""

_REPEATED_ARGUMENTS = {"webhook": {"templateControllers": "--template-controller", "clientNames": "--client-name"}}
"""Options of a program that are given once for each member of a value of its own."""

_OWN_ARGUMENTS = {
    "controller": {
        r"(?<=--backfill-depth=)\d+": "backfillDepth",
        r"(?<=--keep-gang-places=)\d+": "keepGangPlaces",
        r"(?<=--lease-seconds=)\d+": "leaseSeconds",
    }
}
"""What of the arguments of a program is a value of its own."""


_OWN_ENVIRONMENT = {
    "history": {
        '"penstock-history"': "{{ .Values.history.secretName | quote }}",
        '"400"': "{{ .Values.history.days | quote }}",
        '""': '{{ join "," .Values.history.labels | quote }}',
    }
}
"""What of the environment that a component brings is a value of its own."""
_UNPRIVILEGED = {"dashboard"}
"""Programs that may wait for room like any other pod."""
_CONNECTIONS = re.compile(r" {4}# networkPolicy\.(\w+)\n( {4}- .*\n(?: {6}.*\n)+)")
"""A rule of a NetworkPolicy below the line that names its value."""
_LABEL = "\n    app.kubernetes.io/part-of: penstock\n"
_MORE_LABELS = '    {{- include "penstock.labels" . | nindent 4 }}\n'
"""What the objects of a release are known by; not their pods, which would be replaced with each new version."""
_ARGUMENT = "/spec/template/spec/containers/0/args/-"
_ENVIRONMENT = "/spec/template/spec/containers/0/env"
_IS_GENERATED = '{{ eq .Values.certificate.source "generated" }}'
_CERTIFICATE_IS_OPTIONAL = "/spec/template/spec/volumes/0/secret/optional"
_FOLLOWED = {
    "controller": {("add", _ARGUMENT), ("add", _ENVIRONMENT)},
    "webhook": {("add", _ARGUMENT), ("replace", _CERTIFICATE_IS_OPTIONAL)},
}


class GenerateError(Exception):
    """A file of config/ is not as the generator knows it; the text says which and what to do."""


def render() -> dict[str, str]:
    """The text of every generated template, by its path below DESTINATION."""
    files = {}
    for source in _sources():
        path = source.relative_to(CONFIG)
        text = _templated(path, source.read_text(encoding="utf-8"))
        text = text.replace(_LABEL, _LABEL + _MORE_LABELS)
        files[str(path)] = f"{{{{- /* Written from config/{path} by `make generate`. Change that file. */}}}}\n{text}"
    return files


def write(destination: Path = DESTINATION) -> list[Path]:
    """Write all templates and delete those that no file of config/ stands for; return the files written."""
    files = render()
    for stale in [path for path in destination.rglob("*.yaml") if str(path.relative_to(destination)) not in files]:
        stale.unlink()
    for name, text in files.items():
        (destination / name).parent.mkdir(parents=True, exist_ok=True)
        (destination / name).write_text(text, encoding="utf-8")
    return [destination / name for name in files]


def condition(component: str) -> str:
    """When a component is asked for: `podPolicies.enabled` for pod-policies."""
    first, *others = component.split("-")
    name = first + "".join(word.capitalize() for word in others)
    return _OTHER_CONDITIONS.get(component, f".Values.{name}.enabled")


def components() -> list[str]:
    """Names of all components of config/."""
    return sorted(folder.name for folder in (CONFIG / "components").iterdir() if folder.is_dir())


def _sources() -> Iterator[Path]:
    for folder in (*_FOLDERS, *(f"components/{name}" for name in components())):
        yield from (file for file in sorted((CONFIG / folder).glob("*.yaml")) if file.name not in _LEFT_OUT)


def _templated(path: Path, text: str) -> str:
    text = text.replace("{{", '{{ "{{" }}')
    match path.parts:
        case ("crd", _):
            return _guarded(".Values.crds.enabled", _kept(text))
        case ("manager", "quota.yaml"):
            text = text.replace("[system-cluster-critical]", "[{{ .Values.priorityClassName | quote }}]")
            return _guarded(".Values.priorityClassName", _everywhere(text))
        case ("manager", _):
            return _deployment(path, _everywhere(text))
        case ("server", "service.yaml" | "certificate.yaml"):
            return _guarded(_BESIDE_SERVER[path.name], _everywhere(text))
        case ("server", _):
            return _guarded('include "penstock.hasServer" .', _deployment(path, _everywhere(text)))
        case ("policy", _):
            return _guarded('include "penstock.gateByPolicies" .', _everywhere(text))
        case ("webhook", _):
            return _guarded('include "penstock.gateByWebhook" .', _registration(_everywhere(text)))
        case ("guards" | "warnings", _):
            return _everywhere(text)  # no registration: the webhook's failurePolicy must not make it refuse anything
        case ("components", name, _):
            special = _deployment(path, _everywhere(text)) if path.stem == name else _registration(_everywhere(text))
            return _guarded(condition(name), _selectable(special) if name == "monitoring" else special)
        case _:
            return _registration(_everywhere(text))


def _guarded(when: str, text: str) -> str:
    return f"{{{{- if {when} }}}}\n{text}{{{{- end }}}}\n"


def _kept(text: str) -> str:
    """Helm may upgrade our kinds; deleting one would delete every object of it."""
    return text.replace("\nmetadata:\n", "\nmetadata:\n  annotations:\n    helm.sh/resource-policy: keep\n", 1)


def _selectable(text: str) -> str:
    """Labels by which a Prometheus chooses what it reads, and where the runbooks are, differ from site to site."""
    part = "    app.kubernetes.io/part-of: penstock\n"
    labels = "    {{- with .Values.monitoring.labels }}\n    {{- toYaml . | nindent 4 }}\n    {{- end }}\n"
    text = text.replace("docs/runbooks.md#", "{{ .Values.monitoring.runbooks }}#")
    return text.replace(f"{part}spec", f"{part}{labels}spec")


def _everywhere(text: str) -> str:
    text = text.replace(
        "[kube-system, kube-node-lease, kube-public, penstock-system]",
        "{{ append .Values.webhook.excludedNamespaces .Release.Namespace | toJson }}",
    )
    text = text.replace(
        '["kube-system","kube-node-lease","kube-public","penstock-system"]',  # in CEL, as Helm writes JSON
        "{{ append .Values.webhook.excludedNamespaces .Release.Namespace | toJson }}",
    )
    text = text.replace("penstock:break-glass", "{{ .Values.breakGlassGroup }}")
    text = _CONNECTIONS.sub(_connections, text)
    text = text.replace("namespace: penstock-system", "namespace: {{ .Release.Namespace | quote }}")
    return text.replace("penstock-system", "{{ .Release.Namespace }}")


def _connections(rule: re.Match[str]) -> str:
    """The rule of a NetworkPolicy as its value says: peers that may come in, or peers and ports that may be reached."""
    name, text = rule.groups()
    value = f".Values.networkPolicy.{name}"
    ports = text.partition("ports:\n")[2]
    match name:
        case "metricsFrom":  # nobody, where it is empty
            return f"{{{{- with {value} }}}}\n    - from: {{{{ toJson . }}}}\n      ports:\n{ports}{{{{- end }}}}\n"
        case "from":
            return f"    - ports:\n{ports}{{{{- with {value} }}}}\n      from: {{{{ toJson . }}}}\n{{{{- end }}}}\n"
        case _:
            protocols = " ".join(json.dumps(one) for one in dict.fromkeys(re.findall(r"protocol: (\w+)", ports)))
            arguments = f'(dict "to" {value}.to "ports" {value}.ports "protocols" (list {protocols}))'
            return f'    {{{{- include "penstock.egress" {arguments} | nindent 4 }}}}\n'


def _registration(text: str) -> str:
    """Of webhook configurations: who is trusted, and what happens while nobody answers."""
    text = text.replace("failurePolicy: Ignore", "failurePolicy: {{ .Values.webhook.failurePolicy }}")
    text = re.sub(
        r"(WebhookConfiguration\nmetadata:\n)",
        rf"\1{{{{- if {condition('cert-manager')} }}}}\n"
        "  annotations:\n"
        "    cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/penstock-webhook\n"
        "{{- end }}\n",
        text,
    )
    authority = '{{- with (include "penstock.caBundle" .) }}\n      caBundle: {{ . }}\n{{- end }}\n'
    return text.replace("    clientConfig:\n", f"    clientConfig:\n{authority}")


def _deployment(path: Path, text: str) -> str:
    values = f".Values.{path.stem}"
    resources = f"          resources: {{{{ toJson {values}.resources }}}}\n"
    placement = "".join(
        f"{{{{- with {value} }}}}\n      {field}: {{{{ toJson . }}}}\n{{{{- end }}}}\n"
        for field, value in (
            ("imagePullSecrets", ".Values.imagePullSecrets"),
            ("nodeSelector", f"{values}.nodeSelector"),
            ("tolerations", f"{values}.tolerations"),
            ("affinity", f"{values}.affinity"),
        )
    )
    priority = "{{- with .Values.priorityClassName }}\n      priorityClassName: {{ . | quote }}\n{{- end }}\n"
    rules = [
        (r"(?<=\n)  replicas: \d+\n", f"  replicas: {{{{ {values}.replicas }}}}\n"),
        (r"(?<=\n)      containers:\n", f"{placement}      containers:\n"),
        (r"(?<= image: )penstock:\S+", '{{ include "penstock.image" . | quote }}'),
        (r"(?<= imagePullPolicy: )\w+", "{{ .Values.image.pullPolicy }}"),
        (r"(?<=--log-level=)\w+", "{{ .Values.logLevel }}"),
        (r"(?<=\n)          resources:\n(            .*\n)+", resources),
        (r"(?<=\n)          ports:\n", f"{_arguments(path.stem)}{_environment(path.stem)}          ports:\n"),
        (r"(?<=\n    metadata:\n)      labels:\n", _of_pods(values)),
    ]
    if path.stem not in _UNPRIVILEGED:
        rules.append((r"(?<=\n)      priorityClassName: .+\n", priority))
    rules += [(pattern, f"{{{{ {values}.{value} }}}}") for pattern, value in _OWN_ARGUMENTS.get(path.stem, {}).items()]
    if path.stem == "webhook":
        rules.append((r"(?<= secretName: penstock-webhook-tls\n            optional: )true", _IS_GENERATED))
    for pattern, replacement in rules:
        text, count = re.subn(pattern, replacement, text)
        if count != 1:
            raise GenerateError(f"config/{path}: {pattern!r} is there {count} times, not once; mend deploy/generate.py")
    return text


def _arguments(program: str) -> str:
    """What values add to the arguments of a program: its own, and each component's when that is asked for."""
    lines = [
        f"{{{{- range .Values.{program}.{value} }}}}\n"
        f'            - {{{{ printf "{option}=%s" . | quote }}}}\n{{{{- end }}}}\n'
        for value, option in _REPEATED_ARGUMENTS.get(program, {}).items()
    ]
    for name in components():
        lines += [
            _guarded(condition(name), f"            - {operation['value']}\n")
            for operation in _operations(name, program)
            if operation["path"] == _ARGUMENT
        ]
        for value, option in _VALUED_ARGUMENTS.get(name, {}).items() if program == "webhook" else ():
            holder = condition(name).removesuffix(".enabled")
            lines.append(f"{{{{- with {holder}.{value} }}}}\n            - {option}={{{{ . }}}}\n{{{{- end }}}}\n")
    lines.append(f"{{{{- range .Values.{program}.extraArgs }}}}\n            - {{{{ . | quote }}}}\n{{{{- end }}}}\n")
    return "".join(lines)


def _of_pods(values: str) -> str:
    """Annotations and labels that pods get from values, before those of config/."""
    return (
        f"{{{{- with {values}.podAnnotations }}}}\n      annotations: {{{{ toJson . }}}}\n{{{{- end }}}}\n"
        f"      labels:\n{{{{- with {values}.podLabels }}}}\n        {{{{- toYaml . | nindent 8 }}}}\n{{{{- end }}}}\n"
    )


def _environment(program: str) -> str:
    """What components, and a value of its own, add to the environment of a program."""
    asked, text = [f".Values.{program}.env"], ""
    for name in components():
        for operation in _operations(name, program):
            if operation["path"] == _ENVIRONMENT:
                found = "".join(f"            - {json.dumps(one)}\n" for one in operation["value"])
                for literal, value in _OWN_ENVIRONMENT.get(name, {}).items():
                    found = found.replace(literal, value)
                asked.append(condition(name))
                text += _guarded(condition(name), found)
    own = f"{{{{- with .Values.{program}.env }}}}\n            {{{{- toYaml . | nindent 12 }}}}\n{{{{- end }}}}\n"
    return _guarded(f"or {' '.join(asked)}", f"          env:\n{text}{own}")


def _operations(component: str, program: str) -> Iterator[dict[str, Any]]:
    for operation in patched(CONFIG / "components" / component, f"penstock-{program}"):
        if (operation["op"], operation["path"]) not in _FOLLOWED[program]:
            raise GenerateError(
                f"config/components/{component}/kustomization.yaml: {operation['op']} {operation['path']}: the chart "
                "can follow only patches that add an argument, or the controller's environment; teach "
                "deploy/generate.py the other"
            )
        yield operation


if __name__ == "__main__":
    sys.stdout.writelines(f"{path}\n" for path in write())

"""The page of the metrics of both programs, as their registries have them."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.metrics import MetricWrapperBase

from controller.telemetry.metrics import ControllerMetrics
from docsite.reference.tables import WRITTEN, cell, code, table
from webhook.metrics import WebhookMetrics

_HEAD = f"""{WRITTEN}
# Metrics

What both programs serve at `/metrics` on their `--http-address`, in the format of Prometheus.
[Operations](../operations.md#metrics) says which of them to watch, and the [runbooks](../runbooks.md) what to do.
"""


def page() -> str:
    """The text of the page."""
    programs = (("The controller", ControllerMetrics().registry), ("The webhook", WebhookMetrics().registry))
    head = ("metric", "type", "labels", "meaning")
    return _HEAD + "".join(f"\n## {name}\n\n{table(head, sorted(_rows(registry)))}" for name, registry in programs)


def _rows(registry: CollectorRegistry) -> Iterator[tuple[str, str, str, str]]:
    # prometheus_client tells the labels of a metric that has no sample yet in no other way
    for metric in registry._collector_to_names:
        if not isinstance(metric, MetricWrapperBase):
            raise TypeError(f"{metric!r}: is no metric whose labels are known")
        (family,) = metric.describe()
        name = f"{family.name}_total" if family.type == "counter" else family.name
        labels = ", ".join(code(label) for label in metric._labelnames)
        text = cell(family.documentation)
        if isinstance(metric, Histogram):
            text += f" Buckets: {', '.join(f'{bound:g}' for bound in metric._upper_bounds[:-1])}."
        yield code(name), family.type, labels, text

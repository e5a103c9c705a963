"""Controllers and their watches in the test's own process."""

from __future__ import annotations

from controller.cache.cluster import ClusterCache
from controller.cache.sinks import PodSink
from controller.cache.written import Written
from controller.kube.decode import PodDecoder
from controller.runtime.controller import Controller
from controller.runtime.watches import Watches
from controller.telemetry.metrics import ControllerMetrics
from tests.support.fake_client import FakeClient
from tests.support.releasing import leading


def a_controller(client: FakeClient, metrics: ControllerMetrics | None = None) -> Controller:
    """One that leads, with one worker."""
    metrics = metrics or ControllerMetrics()
    return Controller(client.as_client, metrics, workers=1, backfill_depth=1, identity="me", held=leading)


def some_watches(client: FakeClient, *, keeps: bool = False) -> Watches:
    """Those of a cache of their own; `keeps`: with all that could be handed over."""
    cache = ClusterCache(lambda: None)
    return Watches(
        client.as_client, cache, ControllerMetrics(), Written(), decode=PodDecoder(), pods=PodSink(cache), keeps=keeps
    )

"""The HTTPS side of admission: one POST a review. Bytes in, bytes out; what is done stands in `steps`."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from functools import partial

from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Histogram

from controller.telemetry import logs
from webhook.review import Answer, BadReview, Request, read, write
from webhook.steps import mutate
from webhook.template_review import read_template
from webhook.templates_step import mutate_template
from webhook.world import World

_log = logs.get("webhook")

_BODY_LIMIT = 20 * 2**20
"""The apiserver takes requests of 3 MiB and may write a character of them as six: what it takes must not pass us by."""
_BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2)
_Decide = Callable[[bytes], Awaitable[tuple[Request, Answer]]]
_RESULTS = ("changed", "unchanged", "denied", "bad")


class WebhookMetrics:
    """The webhook's metrics, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.reviews = Counter(
            "penstock_webhook_reviews_total",
            "Admission reviews, by result (changed, unchanged, denied, bad).",
            ["result"],
            registry=self.registry,
        )
        for result in _RESULTS:
            self.reviews.labels(result)
        self.policies = Counter(
            "penstock_webhook_policies_total",
            "Pod scheduling policies that concerned a new pod, or a template, by policy and by what became of it.",
            ["policy", "result"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            "penstock_webhook_review_seconds",
            "Time from a review's body to its answer.",
            registry=self.registry,
            buckets=_BUCKETS,
        )


def admission(
    world: World,
    metrics: WebhookMetrics,
    *,
    ready: Callable[[], bool],
    completed: Callable[[Request], Awaitable[World]] | None = None,
) -> web.Application:
    """Build the admission app. Until `ready` it answers 503: the failure policy decides, not an empty world.

    `completed` returns the world with what this one review needs and memory does not hold.
    """

    async def decided(body: bytes) -> tuple[Request, Answer]:
        review = read(body)
        return review, mutate(review, world if completed is None else await completed(review))

    async def decided_of_template(body: bytes) -> tuple[Request, Answer]:
        review = read_template(body)
        return review.inner, mutate_template(review, world)

    async def handle(request: web.Request, decide: _Decide) -> web.Response:
        if not ready():
            return web.Response(status=503, text="not ready: queues and namespaces are not listed yet")
        began = time.perf_counter()
        try:
            review, answer = await decide(await request.read())
        except (BadReview, web.HTTPRequestEntityTooLarge) as error:
            metrics.reviews.labels("bad").inc()
            _log.warning("bad_review", error=str(error), bytes=request.content_length)
            status = 400 if isinstance(error, BadReview) else error.status
            return web.Response(status=status, text=str(error))
        metrics.reviews.labels(_result(review, answer)).inc()
        for policy, result in answer.counted:
            metrics.policies.labels(policy, result).inc()
        body = write(review.uid, answer)
        metrics.seconds.observe(time.perf_counter() - began)
        return web.Response(body=body, content_type="application/json")

    app = web.Application(client_max_size=_BODY_LIMIT)
    app.router.add_post("/mutate/pods", partial(handle, decide=decided))
    app.router.add_post("/mutate/podtemplates", partial(handle, decide=decided_of_template))
    return app


def _result(request: Request, answer: Answer) -> str:
    if answer.denial is not None:
        _log.info("review_denied", namespace=request.namespace, user=request.user, why=answer.denial)
        return "denied"
    return "changed" if answer.operations else "unchanged"

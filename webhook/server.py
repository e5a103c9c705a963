"""The HTTPS side of admission: one POST a review. Bytes in, bytes out; what is done is in `steps` and `checks`."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from functools import partial

from aiohttp import web

from controller.telemetry import logs
from webhook.checks.chain import validate
from webhook.checks.templates import check_owner
from webhook.metrics import WebhookMetrics
from webhook.reviews.admission import Answer, BadReview, Request, Unreadable, cut, read, unread, write
from webhook.reviews.bodies import BUDGET, LIMIT, Bodies, Body, Busy, TooLarge
from webhook.reviews.lookups import ReviewLookups
from webhook.reviews.subresources import read_validated
from webhook.reviews.templates import read_template
from webhook.steps.chain import mutate
from webhook.steps.kueue_labels import mutate_owner
from webhook.steps.templates import mutate_template
from webhook.world.live import NotKnown

_log = logs.get("webhook")

_Judge = Callable[[ReviewLookups], Answer]
_Read = Callable[[Body], tuple[Request, _Judge]]
"""A review's body to its request, and what is to be done about it; raises BadReview."""

_UNREAD = (BadReview, TooLarge, Busy, ConnectionError)
_UNANSWERED = {400: "bad", 408: "bad", 413: "bad", 503: "busy"}


def admission(
    world: ReviewLookups,
    metrics: WebhookMetrics,
    *,
    ready: Callable[[], bool],
    completed: Callable[[Request], Awaitable[ReviewLookups]] | None = None,
    budget: int = BUDGET,
) -> web.Application:
    """Build the admission app. Until `ready` it answers 503: the failure policy decides, not an empty world.

    `completed` returns the world with what this one review needs and memory does not hold. `budget` is how many bytes
    of large bodies are held at a time.
    """
    reviews = _Reviews(world, metrics, ready, completed, Bodies(budget))
    app = web.Application(client_max_size=LIMIT)
    app.router.add_post("/mutate/pods", reviews.mutate)
    app.router.add_post("/mutate/podtemplates", reviews.mutate_template)
    app.router.add_post("/mutate/users", reviews.note_user)
    app.router.add_post("/validate/pods", reviews.validate)
    app.router.add_post("/validate/users", reviews.check_user)
    return app


class _Reviews:
    """The endpoints."""

    def __init__(
        self,
        world: ReviewLookups,
        metrics: WebhookMetrics,
        ready: Callable[[], bool],
        completed: Callable[[Request], Awaitable[ReviewLookups]] | None,
        bodies: Bodies,
    ) -> None:
        self._world = world
        self._metrics = metrics
        self._ready = ready
        self._completed = completed
        self._bodies = bodies

    async def mutate(self, request: web.Request) -> web.Response:
        return await self._answer(request, "mutate", _read_mutation)

    async def mutate_template(self, request: web.Request) -> web.Response:
        return await self._answer(request, "mutate_template", _read_template_mutation)

    async def note_user(self, request: web.Request) -> web.Response:
        return await self._answer(request, "mutate_user", _read_user)

    async def validate(self, request: web.Request) -> web.Response:
        return await self._answer(request, "validate", _read_validation)

    async def check_user(self, request: web.Request) -> web.Response:
        return await self._answer(request, "validate_user", _read_user_check)

    async def _answer(self, request: web.Request, endpoint: str, read_body: _Read) -> web.Response:
        if not self._ready():
            return web.Response(status=503, text="not ready: queues and namespaces are not listed yet")
        began = time.perf_counter()
        review: Request | None = None
        try:
            async with self._bodies.held(request) as body, self._bodies.parsed(read_body, body) as (review, judge):
                answer = await self._judged(review, judge)
        except _UNREAD as error:
            return self._unread(error, request, endpoint)
        except Exception:  # noqa: BLE001 - the top frame of a review
            return self._failed(endpoint, review)
        self._metrics.count_review(endpoint, _result(endpoint, review, answer))
        for policy, result in answer.counted:
            self._metrics.count_policy(policy, result)
        told = write(review.uid, answer)
        self._metrics.observe_review(endpoint, time.perf_counter() - began)
        return _json(told)

    async def _judged(self, review: Request, judge: _Judge) -> Answer:
        try:
            return judge(self._world if self._completed is None else await self._completed(review))
        except NotKnown as error:
            return Answer(denial=str(error))

    def _failed(self, endpoint: str, review: Request | None) -> web.Response:
        """What nobody thought of is seen, and the failure policy decides."""
        self._metrics.count_review(endpoint, "error")
        whose = {} if review is None else {"uid": review.uid, "namespace": review.namespace, "user": review.user}
        _log.exception("review_failed", endpoint=endpoint, **whose)
        return web.Response(status=500, text="Penstock failed at this review; its log says how")

    def _unread(self, error: Exception, request: web.Request, endpoint: str) -> web.Response:
        """Answer what was not read: nothing that the apiserver takes may pass by us for that."""
        status = 503 if isinstance(error, Busy) else 408 if isinstance(error, ConnectionError) else 400
        if isinstance(error, TooLarge):
            status, error = 413, unread(error.head, str(error), "use a smaller one")
        self._metrics.count_review(endpoint, "unreadable" if isinstance(error, Unreadable) else _UNANSWERED[status])
        if isinstance(error, Unreadable):
            _log.warning("unreadable_object", error=str(error), uid=error.uid, bytes=request.content_length)
            return _json(write(error.uid, Answer(denial=str(error))))
        _log.warning("bad_review", error=str(error), status=status, bytes=request.content_length)
        return web.Response(status=status, text=str(error))


def _json(body: bytes) -> web.Response:
    return web.Response(body=body, content_type="application/json")


def _read_mutation(body: Body) -> tuple[Request, _Judge]:
    review = read(body)
    return review, partial(mutate, review)


def _read_validation(body: Body) -> tuple[Request, _Judge]:
    review = read_validated(body)
    return review, partial(validate, review)


def _read_template_mutation(body: Body) -> tuple[Request, _Judge]:
    review = read_template(body)
    return review.inner, partial(mutate_template, review)


def _read_user(body: Body) -> tuple[Request, _Judge]:
    review = read_template(body)
    return review.inner, partial(mutate_owner, review)


def _read_user_check(body: Body) -> tuple[Request, _Judge]:
    review = read_template(body)
    return review.inner, partial(check_owner, review)


def _result(endpoint: str, request: Request, answer: Answer) -> str:
    if answer.denial is not None:
        _log.info("review_denied", namespace=request.namespace, user=request.user, why=cut(answer.denial))
        return "denied"
    if endpoint.startswith("validate"):
        return "allowed"
    return "changed" if answer.operations else "unchanged"

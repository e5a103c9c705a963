"""How much of a pod is looked into: some of what is done with its lists costs the product of their lengths.

The apiserver takes three megabytes of them, and waits two seconds for us. What is over a limit here is refused: let by
unjudged it would be a way around every policy, and judged it would keep all other pods waiting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sized
from typing import Final

from controller.core.kubernetes.directives import Directives
from controller.core.kubernetes.labels import Term
from webhook.reviews.admission import Answer, Request
from webhook.reviews.lookups import ReviewLookups

ENTRIES_MOST: Final = 256
"""Of any one list: far more than any scheduler is asked to work through for a pod."""

VALUES_MOST: Final = 20_000
"""Of all requirements of the node affinity together: the names of the nodes of a large cluster fit."""

_NODE_AFFINITY = "spec.affinity.nodeAffinity"


class TooMuch(Exception):
    """The pod cannot be judged in time; the text is for who wrote it."""


def limited(judge: Callable[[Request, ReviewLookups], Answer], request: Request, world: ReviewLookups) -> Answer:
    """Ask a step or a check, and refuse what is too much for it."""
    try:
        return judge(request, world)
    except TooMuch as error:
        return Answer(denial=str(error))


def check(directives: Directives) -> None:
    """Raise TooMuch for directives that are over a limit."""
    _few("spec.nodeSelector", directives.node_selector)
    check_tolerations(directives.tolerations)
    terms = [*(directives.required or ()), *(one.term for one in directives.preferred)]
    _few(f"{_NODE_AFFINITY}, required and preferred", terms)
    _values(terms)
    for (affinity, part), others in directives.pod_terms.items():
        _few(f"spec.affinity.{affinity}.{part}", others)


def check_tolerations(tolerations: Sized) -> None:
    """Raise TooMuch for too many of them."""
    _few("spec.tolerations", tolerations)


def _values(terms: Iterable[Term]) -> None:
    values = 0
    for term in terms:
        _few(f"{_NODE_AFFINITY}, matchExpressions of a term", term.expressions)
        _few(f"{_NODE_AFFINITY}, matchFields of a term", term.fields)
        values += sum(len(requirement.values) for requirement in (*term.expressions, *term.fields))
    if values > VALUES_MOST:
        raise TooMuch(f"{_NODE_AFFINITY} has {values:,} values, at most {VALUES_MOST:,} can be judged; use fewer")


def _few(where: str, entries: Sized) -> None:
    if len(entries) > ENTRIES_MOST:
        raise TooMuch(f"{where} has {len(entries):,} entries, at most {ENTRIES_MOST} can be judged; use fewer")

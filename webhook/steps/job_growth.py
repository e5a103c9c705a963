"""Step for updates of admitted Jobs: more pods at a time are a wish, on which the queue decides; fewer withdraw it.

Which updates these are: `core.gate.job_protection`. In the apiserver: `config/policy/job_growth.yaml`.
"""

from __future__ import annotations

from controller.core.gate.job_protection import asks_for_less, asks_for_more
from controller.core.keys import WANTED_PARALLELISM
from controller.core.kubernetes.pointers import escape
from webhook.pods.creators import actor
from webhook.reviews.admission import NOTHING, Answer
from webhook.reviews.lookups import ReviewLookups
from webhook.reviews.patching import Operations, added
from webhook.reviews.templates import TemplateRequest


def keep_parallelism(request: TemplateRequest, world: ReviewLookups) -> Answer:
    """Put a raised parallelism back and note what is wanted, or take the note away; else change nothing."""
    old, new, who = request.former, request.makes, actor(request.inner, world)
    if old is None or request.inner.subresource or request.is_terminating:
        return NOTHING
    if asks_for_more(old, new, who):
        wanted, queue = str(new.parallelism), old.queue
        more = new.parallelism - old.parallelism
        what = "spec.parallelism and spec.completions stay" if old.grows_by_index else "spec.parallelism stays"
        told = (
            f"{what} {old.parallelism} until queue {queue!r} has quota and room for {more} more, which"
            f" the Job waits for; the annotation {WANTED_PARALLELISM} notes {wanted}"
        )
        back: Operations = ({"op": "add", "path": "/spec/parallelism", "value": old.parallelism},)
        if old.grows_by_index:
            back += ({"op": "add", "path": "/spec/completions", "value": old.completions},)
        noted = added("annotations", new.annotations or None, {WANTED_PARALLELISM: wanted})
        return Answer(operations=(*back, *noted), warnings=(told,))
    if WANTED_PARALLELISM in new.annotations and asks_for_less(old, new, who):
        return Answer(operations=({"op": "remove", "path": f"/metadata/annotations/{escape(WANTED_PARALLELISM)}"},))
    return NOTHING

"""Whatever a review says, and of whatever form, gets an answer: allowed, refused with its place, or no review at all.

`python -m tests.property.pods.test_review_bodies 1000000` draws as many.
"""

from __future__ import annotations

import random
import sys

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.review_bodies import drawn, judged, spoil, world
from webhook.reviews.admission import BadReview

WORLD = world()


def is_answered(seed: int) -> bool:
    """Whether one review, spoilt at some places, gets an answer that says something, or a refusal."""
    draw = random.Random(seed)  # noqa: S311 - repeatable
    path, review = drawn(draw)
    spoil(draw, review)
    try:
        response = orjson.loads(judged(path, orjson.dumps(review), WORLD))["response"]
    except BadReview:
        return True
    return bool(response["allowed"] or response["status"]["message"])


@settings(max_examples=150)
@given(st.integers(0, 2**63))
def test_a_spoilt_review_gets_an_answer(seed: int) -> None:
    assert is_answered(seed)


@settings(max_examples=40)
@given(st.integers(0, 2**63))
def test_a_review_as_the_apiserver_sends_it_is_read(seed: int) -> None:
    path, review = drawn(random.Random(seed))  # noqa: S311 - repeatable
    if path == "/mutate/pods" and review["request"].get("subResource"):
        return
    response = orjson.loads(judged(path, orjson.dumps(review), WORLD))["response"]
    assert "Expected" not in response.get("status", {}).get("message", "")


def main() -> None:
    """Draw many; a seed that fails is named."""
    for seed in range(int(sys.argv[1])):
        try:
            assert is_answered(seed)
        except Exception:
            sys.stderr.write(f"seed {seed}\n")
            raise


if __name__ == "__main__":
    main()

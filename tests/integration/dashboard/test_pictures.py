"""The pictures of the page in the documents show it as it is."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.support.clusters import Cluster
from tests.support.pictures import FOLDER, VIEWS, a_still_cluster, take, unlikeness

pytestmark = pytest.mark.integration

MOST_UNLIKE = 0.02
"""Ages, and fonts of other machines, are far less; a column that is missing is more."""


@pytest.fixture(scope="module")
def still() -> Iterator[Cluster]:
    """A cluster in which nothing changes."""
    with a_still_cluster() as cluster:
        yield cluster


@pytest.mark.more
async def test_the_pictures_of_the_documents_are_of_this_page(still: Cluster) -> None:
    taken = await take(still)
    known = {name: await asyncio.to_thread((FOLDER / f"{name}.png").read_bytes) for name in VIEWS}
    assert {name: unlikeness(known[name], picture) for name, picture in taken.items()} == {
        name: pytest.approx(0, abs=MOST_UNLIKE) for name in VIEWS
    }, "make pictures takes them anew"


async def test_another_view_does_not_pass_for_one() -> None:
    one, other = [await asyncio.to_thread((FOLDER / f"{name}.png").read_bytes) for name in list(VIEWS)[:2]]
    assert unlikeness(one, other) > MOST_UNLIKE
    assert unlikeness(one, one) == 0

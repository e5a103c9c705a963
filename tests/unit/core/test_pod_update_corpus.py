"""Updates with the verdict that the apiserver gave on them. Where it is asked anew: tests/differential."""

from __future__ import annotations

import pytest

from tests.differential.agreement import our_verdict
from tests.differential.corpus import Case, cases


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_a_known_update_is_judged_as_the_apiserver_did(case: Case) -> None:
    assert our_verdict(case.old, case.new) == case.verdict

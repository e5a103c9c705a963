"""Quotas that are a part of a flavor's capacity, such as `40%`: exact, rounded down."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

SHARE_PATTERN: Final = r"(100(\.0{1,2})?|[0-9]{1,2}(\.[0-9]{1,2})?)%"
"""0% to 100%, with up to two decimals."""

_WHOLE: Final = 10_000


class ShareError(ValueError):
    """A percentage that is malformed or above 100%."""


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a capacity, in hundredths of a percent: 4000 is 40%."""

    hundredths: int

    def of(self, capacity: int) -> int:
        """Return the part, rounded down to the resource's unit."""
        return capacity * self.hundredths // _WHOLE


Amount = int | Share
"""A quota as written: an amount, or a share of what its flavor has of the resource."""


def parse_share(text: str) -> Share:
    """Read a percentage. Raises ShareError."""
    if not re.fullmatch(SHARE_PATTERN, text):
        raise ShareError(f'{text!r} is not a share; write 0% to 100%, with at most two decimals, such as "40%"')
    whole, _, decimals = text.removesuffix("%").partition(".")
    return Share(100 * int(whole) + int(decimals.ljust(2, "0")))


def amounts_of(quotas: Mapping[str, Amount], capacity: Mapping[str, int]) -> dict[str, int]:
    """Return plain amounts by resource; of what the capacity does not list there is nothing."""
    return {
        resource: amount.of(capacity.get(resource, 0)) if isinstance(amount, Share) else amount
        for resource, amount in quotas.items()
    }

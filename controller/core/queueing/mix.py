"""How many of a queue's pods may be on spot flavors, beside how many that are on others."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mix:
    """The first `on_demand_base` pods are not on spot; of those beyond, at most `spot_percent` in a hundred are."""

    on_demand_base: int = 0
    spot_percent: int = 100

    def lacks(self, spot: int, total: int, more: int) -> int:
        """Say how many more pods must be on-demand before `more` may join the `spot` ones of `total`; 0: they may.

        The part that may be spot is rounded down. `spot_percent` must not be 0: no number would do.
        """
        beyond = -(-100 * (spot + more) // self.spot_percent)
        return max(0, beyond + self.on_demand_base - total - more)

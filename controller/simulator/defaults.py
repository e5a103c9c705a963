"""How forecasts are made unless somebody says otherwise."""

from __future__ import annotations

from typing import Final

USUAL_RUNS: Final = 20
"""Simulations."""
USUAL_HORIZON: Final = 7 * 86_400.0
"""Seconds that a simulation looks ahead."""

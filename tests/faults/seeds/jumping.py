"""`python -m tests.faults.seeds.jumping`: the controller, on a machine whose wall clock a test moves.

The file that PENSTOCK_TEST_CLOCK names has how many seconds it is off.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

CLOCK = "PENSTOCK_TEST_CLOCK"
_true = time.time  # noqa: TID251 - the clock below all others is what moves


def _moved() -> float:
    try:
        return _true() + float(Path(os.environ[CLOCK]).read_text() or 0)
    except (OSError, ValueError):
        return _true()


if __name__ == "__main__":
    time.time = _moved  # noqa: TID251 - as above
    from controller.__main__ import main

    main()

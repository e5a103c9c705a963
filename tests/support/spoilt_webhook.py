"""`python -m tests.support.spoilt_webhook`: the webhook with a fault in it, named by PENSTOCK_TEST_FAULT.

`raises`: every review of a pod fails. `slow`: each takes most of a second.
"""

from __future__ import annotations

import os
import time
from typing import Any

from webhook import server
from webhook.__main__ import main
from webhook.steps.chain import mutate

_FAULT = os.environ["PENSTOCK_TEST_FAULT"]


def _spoilt(*arguments: Any, **options: Any) -> Any:
    if _FAULT == "raises":
        raise RuntimeError("as told")
    time.sleep(0.8)
    return mutate(*arguments, **options)


vars(server)["mutate"] = _spoilt

if __name__ == "__main__":
    main()

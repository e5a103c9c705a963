"""On which Kubernetes the integration tests run: `PENSTOCK_TEST_KUBERNETES`, else what a sandbox runs by default."""

from __future__ import annotations

import os
from typing import Final

from controller.sandbox.versions import DEFAULT, check_version

VARIABLE: Final = "PENSTOCK_TEST_KUBERNETES"
VERSION: Final = check_version(os.environ.get(VARIABLE, "") or DEFAULT)
MINOR: Final = int(VERSION.split(".")[1])

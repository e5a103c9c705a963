"""On which Kubernetes the integration tests run: `PENSTOCK_TEST_KUBERNETES`, else what a sandbox runs by default."""

from __future__ import annotations

import os
from typing import Final

from controller.sandbox.versions import DEFAULT, check_version

VARIABLE: Final = "PENSTOCK_TEST_KUBERNETES"
VERSION: Final = check_version(os.environ.get(VARIABLE, "") or DEFAULT)
MINOR: Final = int(VERSION.split(".")[1])
IS_BETA: Final = MINOR >= 37
"""Whether PodGroups are."""
POD_GROUPS: Final = f"scheduling.k8s.io/{'v1beta1' if IS_BETA else 'v1alpha2'}"
POD_GROUP_GATES: Final = ("GenericWorkload",) if IS_BETA else ("GenericWorkload", "GangScheduling")
"""What serves them, and makes kube-scheduler go by them."""

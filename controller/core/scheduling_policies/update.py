"""What an update of a pod newly does against its policies.

Only what is new counts. Policies and rights may have changed since the pod was created, and it must still be possible
to change what has nothing to do with that, such as to narrow where it may run.
"""

from __future__ import annotations

from controller.core.scheduling_policies.judgement import judge
from controller.core.scheduling_policies.levels import Level
from controller.core.scheduling_policies.merging import merge
from controller.core.scheduling_policies.pod import Pod
from controller.core.scheduling_policies.policy import MergeOption
from controller.core.scheduling_policies.violation import Breach, Violation

_NOTHING = merge((), MergeOption.DEEP_MERGE)


def newly_wrong(before: Pod, after: Pod, level: Level) -> tuple[Violation, ...]:
    """Return what is wrong with the pod after an update and was not before, by the policies of this level.

    Where the account may use no policy at all, it may add nothing that would need one.
    """
    merged = _NOTHING if level.merged is None else level.merged
    known = {_key(violation) for violation in judge(before, merged)}
    return tuple(violation for violation in judge(after, merged) if _key(violation) not in known)


def _key(violation: Violation) -> tuple[str, str]:
    """What makes two violations the same: not the place in a list, which an update may move.

    Of what is required and missing, it does not matter in which way it is missing.
    """
    return violation.entry, "" if violation.breach is Breach.REQUIRED else violation.value

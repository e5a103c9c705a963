"""Whether tolerations are well formed. Mirrors `ValidateTolerations` (k8s.io/kubernetes/pkg/apis/core/validation)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from controller.core.kubernetes.names import LABEL_KEY_FORM, LABEL_VALUE_FORM, is_label_key, is_label_value
from controller.core.pod_update.equality import Json
from controller.core.pod_update.violation import Cause, Violation, invalid, shown

_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_INTEGER: Final = re.compile("0|-?[1-9][0-9]{0,18}")


def tolerations(path: str, held: Sequence[Json], *, compares: bool) -> Iterator[Violation]:
    """Return the faults of the list at `path`; `compares`: the operators Lt and Gt are known."""
    for index, one in enumerate(held):
        at = f"{path}[{index}]"
        key, effect = one.get("key") or "", one.get("effect") or ""
        if key and not is_label_key(key):
            yield invalid(f"{at}.key", f"is {shown(key)}; must be {LABEL_KEY_FORM}")
        if not key and one.get("operator") != "Exists":
            yield invalid(f"{at}.operator", f"is {shown(one.get('operator'))}; without a key it must be Exists")
        if one.get("tolerationSeconds") is not None and effect != "NoExecute":
            yield invalid(f"{at}.effect", f"is {shown(effect)}; tolerationSeconds go with NoExecute alone")
        yield from _value(at, one, compares=compares)
        if effect and effect not in _EFFECTS:
            text = f"is {shown(effect)}; must be empty or one of {', '.join(_EFFECTS)}"
            yield invalid(f"{at}.effect", text, Cause.NOT_SUPPORTED)


def _value(at: str, toleration: Json, *, compares: bool) -> Iterator[Violation]:
    value = toleration.get("value") or ""
    match toleration.get("operator") or "Equal":
        case "Equal":
            if not is_label_value(value):
                # at the operator, as the apiserver has it
                yield invalid(f"{at}.operator", f"the value is {shown(value)}; must be {LABEL_VALUE_FORM}")
        case "Exists":
            if value:
                yield invalid(f"{at}.operator", f"is Exists, which takes no value; the value is {shown(value)}")
        case "Lt" | "Gt" if compares:
            if not _INTEGER.fullmatch(value) or not -(2**63) <= int(value) < 2**63:
                yield invalid(f"{at}.value", f"is {shown(value)}; must be a whole number of 64 bits")
        case other:
            text = f"is {shown(other)}; must be Exists or Equal"
            yield invalid(f"{at}.operator", text, Cause.NOT_SUPPORTED)

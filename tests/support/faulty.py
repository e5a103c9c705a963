"""An object that breaks one rule, and the words that rows about different kinds share."""

from __future__ import annotations

from dataclasses import dataclass

from tests.support.api_objects import Json

LABEL_VALUE = 'must be a label value: at most 63 letters, digits, "-", "_" or ".", first and last a letter or digit'


@dataclass(frozen=True)
class Faulty:
    """An object with one fault: the line that parsing it gives, and what the apiserver's message holds."""

    name: str
    obj: Json
    fault: str
    refusal: str

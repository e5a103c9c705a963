"""How many there are of something, in a sentence."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Write a number with its noun: `1 pod`, `2 pods`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

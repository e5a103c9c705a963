"""The sandbox's one error. What to do about it stands in its text; how it is shown is the caller's business."""

from __future__ import annotations


class SandboxError(Exception):
    """A sandbox cannot be built, started, found or stopped; the text says what, where and what to do."""

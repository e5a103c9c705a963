"""What the demo itself says when it cannot go on."""

from __future__ import annotations


class DemoError(Exception):
    """The demo cannot be run; the text says why and what to do, in one line."""

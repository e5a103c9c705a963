"""`python -m controller.cli`: the same as the `penstock` command."""

from __future__ import annotations

from controller.cli.main import main

main()

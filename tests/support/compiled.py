"""Run tests or a benchmark on the compiled core, as the image has it: `python -m tests.support.compiled MODULE ...`.

In a copy of this checkout, `build/compiled`: beside the sources what is compiled would go before what is edited.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_COPY = _ROOT / "build" / "compiled"
_NEEDED = ("config", "controller", "deploy", "docs", "requirements", "tests", "webhook")


def main() -> int:
    """Build the copy and run the module in it; say why not, and fail in CI, where nothing can compile."""
    lacks = _lacks()
    if lacks:
        print(f"the compiled core is not tried: {lacks}", file=sys.stderr)  # noqa: T201
        return int("CI" in os.environ)
    _build()
    _run("-c", "import controller.core.decision.decide as it; assert it.__file__.endswith('.so'), it.__file__")
    return subprocess.run([sys.executable, "-m", *sys.argv[1:]], cwd=_COPY, env=_environment(), check=False).returncode


def _lacks() -> str:
    if shutil.which("cc") is None:
        return "there is no C compiler (cc)"
    header = Path(sysconfig.get_path("include"), "Python.h")
    return "" if header.exists() else f"there is no {header}; on Debian and Ubuntu: apt install python3-dev"


def _build() -> None:
    shutil.rmtree(_COPY, ignore_errors=True)
    for name in _NEEDED:
        shutil.copytree(_ROOT / name, _COPY / name, ignore=shutil.ignore_patterns("__pycache__"))
    for file in (one for one in _ROOT.iterdir() if one.is_file()):
        shutil.copy2(file, _COPY)
    print("==> compiling the core (a minute)", file=sys.stderr, flush=True)  # noqa: T201
    _run("-m", "hatchling", "build", "--target", "wheel")


def _run(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], cwd=_COPY, env=_environment(), check=True)


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(_COPY), "HATCH_BUILD_HOOK_ENABLE_MYPYC": "true"}


if __name__ == "__main__":
    sys.exit(main())

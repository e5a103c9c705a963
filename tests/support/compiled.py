"""Run tests or a benchmark on the compiled core, as the image has it: `python -m tests.support.compiled MODULE ...`.

In a copy of this checkout, `build/compiled`: beside the sources what is compiled would go before what is edited.
Without a module it is only compiled. It is compiled anew where a source differs from what it was compiled of.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from hashlib import sha256
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_COPY = _ROOT / "build" / "compiled"
_COMPILED_OF = _COPY / "compiled-of"
"""A digest of the sources of what is compiled there."""
_NEEDED = ("config", "controller", "deploy", "docs", "requirements", "tests", "webhook")


def main() -> int:
    """Build the copy and run the module in it; say why not, and fail in CI, where nothing can compile."""
    lacks = _lacks()
    if lacks:
        print(f"the compiled core is not tried: {lacks}", file=sys.stderr)  # noqa: T201
        return int("CI" in os.environ)
    _copy()
    _build()
    _run("-c", "import controller.core.decision.decide as it; assert it.__file__.endswith('.so'), it.__file__")
    if not sys.argv[1:]:
        return 0
    return subprocess.run([sys.executable, "-m", *sys.argv[1:]], cwd=_COPY, env=_environment(), check=False).returncode


def _lacks() -> str:
    if shutil.which("cc") is None:
        return "there is no C compiler (cc)"
    header = Path(sysconfig.get_path("include"), "Python.h")
    return "" if header.exists() else f"there is no {header}; on Debian and Ubuntu: apt install python3-dev"


def _copy() -> None:
    """Copy the checkout; what is compiled stays where it is made of the same sources."""
    is_compiled = _COMPILED_OF.is_file() and _COMPILED_OF.read_text() == _sources()
    if not is_compiled:
        shutil.rmtree(_COPY, ignore_errors=True)
    for name in _NEEDED:
        if name != "controller" or not is_compiled:
            shutil.rmtree(_COPY / name, ignore_errors=True)
            shutil.copytree(_ROOT / name, _COPY / name, ignore=shutil.ignore_patterns("__pycache__"))
    for file in (one for one in _ROOT.iterdir() if one.is_file()):
        shutil.copy2(file, _COPY)


def _sources() -> str:
    """Return a digest of all that the compiled package is made of."""
    digest = sha256()
    files = (one for one in (_ROOT / "controller").rglob("*") if one.is_file() and one.parent.name != "__pycache__")
    for file in (*sorted(files), _ROOT / "pyproject.toml"):
        digest.update(f"{file.relative_to(_ROOT)} {sha256(file.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def _build() -> None:
    if _COMPILED_OF.is_file():
        return
    print("==> compiling the core (a minute)", file=sys.stderr, flush=True)  # noqa: T201
    _run("-m", "hatchling", "build", "--target", "wheel")
    _COMPILED_OF.write_text(_sources())


def _run(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], cwd=_COPY, env=_environment(), check=True)


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(_COPY), "HATCH_BUILD_HOOK_ENABLE_MYPYC": "true"}


if __name__ == "__main__":
    sys.exit(main())

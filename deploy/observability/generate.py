"""`python -m deploy.observability.generate`: write the boards as JSON, and as a ConfigMap. `make generate` runs it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from deploy.observability.catalog import BOARDS

ROOT = Path(__file__).resolve().parents[2]
_HEAD = """\
# Written from deploy/observability by `make generate`. Change that. The label is that by which the sidecar of Grafana's
# chart finds boards.
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: penstock-boards
  namespace: penstock-system
  labels:
    app.kubernetes.io/part-of: penstock
    grafana_dashboard: "1"
data:
"""


def render() -> dict[Path, str]:
    """The text of every file, by its path below ROOT."""
    boards = {f"{one.uid}.json": json.dumps(one.json(), indent=1) + "\n" for one in BOARDS}
    config = _HEAD
    for name, text in boards.items():
        config += f"  {name}: |\n" + "".join(f"    {line}\n" for line in text.splitlines())
    folder = Path("deploy", "observability", "boards")
    return {
        **{folder / name: text for name, text in boards.items()},
        Path("config", "components", "monitoring", "boards.yaml"): config,
    }


def write(root: Path = ROOT) -> list[Path]:
    """Write all files; return them."""
    files = render()
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return [root / path for path in files]


if __name__ == "__main__":
    sys.stdout.writelines(f"{path}\n" for path in write())

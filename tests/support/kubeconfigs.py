"""Kubeconfigs that lead elsewhere: to a proxy, or to another apiserver of the same cluster."""

from __future__ import annotations

from pathlib import Path

import yaml


def leading_to(url: str, original: Path, path: Path) -> Path:
    """Write a copy of a kubeconfig whose server is `url`, which has a certificate by the same authority."""
    content = yaml.safe_load(original.read_text())
    for cluster in content["clusters"]:
        cluster["cluster"]["server"] = url
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(content))
    return path

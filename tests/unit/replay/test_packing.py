"""Snapshot files are packed or plain; what is broken is told."""

from __future__ import annotations

import lzma

import pytest

from controller.replay.packing import packed, unpacked
from controller.replay.snapshot_file import SnapshotFileError

CONTENT = b'{"version": 1}' * 100


def test_what_was_packed_is_read_and_so_is_what_was_not() -> None:
    assert len(packed(CONTENT)) < len(CONTENT)
    assert unpacked(packed(CONTENT)) == CONTENT
    assert unpacked(CONTENT) == CONTENT
    assert unpacked(lzma.compress(CONTENT)) == CONTENT
    assert unpacked(b"") == b""


def test_the_same_content_is_the_same_file_at_any_time() -> None:
    assert packed(CONTENT)[4:8] == b"\0\0\0\0"  # where gzip has the time


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (packed(CONTENT)[:-9], "not a snapshot of Penstock: the end of the gzip file is missing"),
        (packed(CONTENT)[:11], "not a snapshot of Penstock: the end of the gzip file is missing"),
        (packed(CONTENT)[:2], "not a snapshot of Penstock: the end of the gzip file is missing"),
        (packed(CONTENT)[:-8] + b"\0" * 8, "not a snapshot of Penstock: a broken gzip file: CRC check failed"),
        (packed(CONTENT)[:10] + b"\xff" * 30, "not a snapshot of Penstock: a broken gzip file: Error -3"),
        (packed(CONTENT) + b"more", "not a snapshot of Penstock: a broken gzip file: Not a gzipped file"),
        (lzma.compress(CONTENT)[:-9], "not a snapshot of Penstock: a broken xz file: Compressed data ended before"),
    ],
)
def test_a_broken_gzip_file_is_told(data: bytes, text: str) -> None:
    with pytest.raises(SnapshotFileError) as raised:
        unpacked(data)
    assert str(raised.value).startswith(text)

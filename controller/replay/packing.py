"""Snapshot files as they are sent around: packed with gzip, plain, or packed with xz, which is read only.

xz finds again what came long before: of many snapshots in one file it leaves a tenth of what gzip does.
"""

from __future__ import annotations

import gzip
import lzma
import zlib
from typing import Final

from controller.replay.snapshot_file import SnapshotFileError

_MAGIC: Final = b"\x1f\x8b"
_XZ: Final = b"\xfd7zXZ\x00"


def packed(data: bytes) -> bytes:
    """Pack with gzip; the same bytes become the same file, whenever that is."""
    return gzip.compress(data, mtime=0)


def unpacked(data: bytes) -> bytes:
    """Return the content of a file that is packed, or plain. Raises SnapshotFileError."""
    if not data.startswith((_MAGIC, _XZ)):
        return data
    try:
        return lzma.decompress(data) if data.startswith(_XZ) else gzip.decompress(data)
    except EOFError:
        raise SnapshotFileError("not a snapshot of Penstock: the end of the gzip file is missing") from None
    except (OSError, zlib.error) as error:
        raise SnapshotFileError(f"not a snapshot of Penstock: a broken gzip file: {error}") from None
    except lzma.LZMAError as error:
        raise SnapshotFileError(f"not a snapshot of Penstock: a broken xz file: {error}") from None

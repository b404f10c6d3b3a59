"""Parquet files that carry the sum of their own bytes: none with a wrong bit is read.

Pages have checksums, which every reader can verify; the footer has none. A reader goes by offsets
and finds nothing between the last page and the footer: there stand ``TAG`` and the SHA-256 of all
other bytes. A file without them, such as that of another tool, is read by its pages' checksums.
"""

from __future__ import annotations

import hashlib
from typing import Any

from verdicts.lazy import pa, parquet

TAG = b"\0SHA-256 of all other bytes:"
SIZE = hashlib.sha256().digest_size

#: The argument of pyarrow's and pandas' writers for checksums of pages.
CHECKSUMS = {"write_page_checksum": True}


def sealed(content: bytes) -> bytes:
    """The content of a Parquet file, with its sum."""
    footer = int.from_bytes(content[-8:-4], "little") + 8  # behind it, its length and a magic word
    start, end = content[:-footer], content[-footer:]
    return start + TAG + hashlib.sha256(content).digest() + end


def opened(content: bytes, **options: Any) -> parquet.ParquetFile:
    """The Parquet file with this content, for which pyarrow has ``options``.

    Raises a ValueError if the content has another sum. What pyarrow raises here, and when it reads
    a page, is an ArrowException, OSError or ValueError: since nothing is read from a disk, the
    content is damaged, or no Parquet file.
    """
    start, tag, rest = content.rpartition(TAG)
    if tag and hashlib.sha256(start + rest[SIZE:]).digest() != rest[:SIZE]:
        raise ValueError("its bytes do not have the sum that it carries")
    return parquet.ParquetFile(pa.BufferReader(content), page_checksum_verification=True, **options)

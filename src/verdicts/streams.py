"""The standard streams of a command: work goes on where nobody reads what it prints."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO


class Lenient(io.FileIO):
    """A stream that drops what it can't write. A reader that has gone, as ``head`` has, is no
    error; another one is kept.
    """

    error: OSError | None = None

    def write(self, data: Any, /) -> int:
        """Write bytes, or drop them; returns their number."""
        try:
            return super().write(data)
        except BrokenPipeError:
            pass
        except OSError as error:  # a full disk, for example
            self.error = error
        return len(data)


@contextmanager
def lenient_streams(program: str) -> Iterator[None]:
    """Standard output and standard error are lenient, or dropped if they are closed.

    If something could not be written, the process ends with a line and the exit code 2.
    """
    if sys.stdout is sys.__stdout__:  # and not that of a test
        sys.stdout, sys.stderr = _lenient(sys.stdout), _lenient(sys.stderr)
    try:
        yield
    finally:
        sys.stdout.flush()
        raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
        if isinstance(raw, Lenient) and raw.error:
            print(f"{program}: output: {raw.error.strerror}.", file=sys.stderr)
            raise SystemExit(2)


def _lenient(stream: TextIO | None) -> TextIO:
    if stream is None:
        return open(os.devnull, "w")
    buffer = io.BufferedWriter(Lenient(stream.fileno(), "w", closefd=False))
    by_line = bool(stream.line_buffering)
    return io.TextIOWrapper(buffer, stream.encoding, stream.errors, line_buffering=by_line)

"""The messages of ``ngo`` as bare lines on standard error."""

from __future__ import annotations

import logging
import sys
from typing import IO

LOG = logging.getLogger("ngo")


class StandardError(logging.StreamHandler):
    """A handler for the ``sys.stderr`` of the moment, which tests and child processes replace."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> IO[str]:
        """The stream to write to."""
        return sys.stderr


def configure() -> None:
    """Print the messages of the logger ``ngo``; a second call is a no-op."""
    if not any(isinstance(handler, StandardError) for handler in LOG.handlers):
        LOG.addHandler(StandardError())
        LOG.setLevel(logging.INFO)

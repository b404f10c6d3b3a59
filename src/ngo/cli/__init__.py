"""The command ``ngo``. Its messages are bare lines on standard error."""

from __future__ import annotations

import logging
import sys

LOG = logging.getLogger("ngo")


class StandardError(logging.StreamHandler):
    """A handler for the ``sys.stderr`` of the moment, which tests and child processes replace."""

    stream = property(lambda self: sys.stderr, lambda self, first: None)


def configure_messages() -> None:
    """Print the messages of the logger ``ngo``; a second call is a no-op."""
    if not any(isinstance(handler, StandardError) for handler in LOG.handlers):
        LOG.addHandler(StandardError())
        LOG.setLevel(logging.INFO)

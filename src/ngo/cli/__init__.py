"""The command ``ngo``. Its messages are bare lines on standard error."""

from __future__ import annotations

import logging

LOG = logging.getLogger("ngo")


def configure_messages() -> None:
    """Print the messages of the logger ``ngo``, by the handler for loggers without a handler."""
    logging.lastResort.setLevel(logging.INFO)
    LOG.addHandler(logging.lastResort)
    LOG.setLevel(logging.INFO)

"""Text from data for Markdown: it makes no HTML, no links and no lines."""

from __future__ import annotations

import re


def inert(text: str, *, cell: bool = True) -> str:
    """``text`` without HTML and links, on one line; emphasis stays.

    A ``cell`` of a pipe table has no bars either.
    """
    line = " ".join(text.splitlines())
    line = re.sub("<(?=[A-Za-z/!?])", "&lt;", line).replace("](", r"]\(")
    return line.replace("|", r"\|") if cell else line

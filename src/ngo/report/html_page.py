"""The results as one HTML file that needs no other: verdicts, tables, figures, provenance."""

from __future__ import annotations

import io
from base64 import b64encode
from functools import cache
from pathlib import Path

from markupsafe import Markup
from PIL import Image

from ngo.plots import CAPTION_SHARE, DESCRIPTION
from ngo.printing import body
from ngo.report.contents import Contents, content, text
from ngo.report.findings import told
from ngo.report.templates import file, play_page, rendered
from verdicts.verdict_rows import WORDS, counted, counts, registered


def html_page(contents: Contents) -> str:
    """The page. Raises a UserError if a file is absent."""
    return rendered(
        "page.html.jinja",
        contents=contents,
        columns=[name for name, number in counts(contents.rows).items() if number],
        used=sorted({row.verdict for row in contents.rows}, key=[*WORDS].index),
        topics=topics_of(contents),
        style=file("page.css"),
        script=file("page.js"),
        playground=play_page() if contents.findings.play else "",
        **{"counted": counted, "counts": counts, "registered": registered, "told": told},
        **{"hue": hue, "picture": picture, "prose": prose, "table": table},
    )


def topics_of(contents: Contents) -> dict[str, str]:
    """The numbers of the topics of each claim, separated by spaces."""
    topics: dict[str, list[str]] = {row.claim: [] for row in contents.rows}
    for k, topic in enumerate(contents.findings.topics, 1):
        for row in topic.rows:
            topics[row.claim].append(str(k))
    return {claim: " ".join(numbers) for claim, numbers in topics.items()}


def picture(path: Path) -> dict[str, object]:
    """A PNG file as a data URI, with its size in pixels and its caption.

    The height is without a caption that is drawn in the picture: the style sheet cuts it off, and
    the page has it as text.
    """
    data = content(path)
    with Image.open(io.BytesIO(data)) as image:
        width, height = image.size
        caption = image.info.get(DESCRIPTION, "")
        height -= round(float(image.info.get(CAPTION_SHARE) or 0) * height)
    uri = f"data:image/png;base64,{b64encode(data).decode()}"
    return {"uri": uri, "width": width, "height": height, "caption": caption}


def table(stem: Path) -> Markup:
    """The tables of a saved HTML table, with their captions."""
    return Markup(body(text(stem.with_name(f"{stem.name}.html"))))


@cache
def prose(source: str) -> Markup:
    """Paragraphs of reStructuredText as HTML. They include neither files nor HTML."""
    from docutils.core import publish_parts

    strict = {"report_level": 1, "halt_level": 2, "initial_header_level": 4}
    strict |= {"raw_enabled": False, "file_insertion_enabled": False}
    return Markup(publish_parts(source, writer="html5", settings_overrides=strict)["body"])


def hue(word: str) -> str:
    """The CSS class with the colour of an answer's first word."""
    hues = {"Yes": "holds", "No": "fails", "Partly": "depends", "It depends": "depends"}
    return hues.get(word.partition(",")[0], "undecided")

"""The pages of results, from templates: HTML, Markdown in docs/, and the summary in README.md.

``html_page`` is one file that needs no other. In docs/, a paper has the page ``papers/NAME.md``:
answers, claims, tables and figures, assumptions and provenance. The results of README.md have three
pages: answers, claims, tables and figures. Figures are in ``docs/images/NAME``, and links are
relative. Text is escaped for the format of the page.
"""

from __future__ import annotations

import io
import re
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from PIL import Image
from pylatexenc.latex2text import LatexNodes2Text

from ngo.plots import CAPTION_SHARE, DESCRIPTION
from ngo.printing import body, inert
from ngo.report.contents import Contents, text
from ngo.report.findings import Topic, told
from verdicts import judgement
from verdicts.files import content_of
from verdicts.report import escaped
from verdicts.verdict_rows import ANSWERS, MARKED, answered, counted, counts, registered

#: The templates, the style sheets and the scripts.
FOLDER = Path(__file__).with_name("page")

#: The parts of the playground's script, in order.
SCRIPTS = ("mathematics", "setting", "drawing", "page", "input")


def rendered(template: str, **values: object) -> str:
    """The page of a template; ``Markup`` is printed as it is. Markdown has single empty lines."""
    markdown = ".md." in template
    page = _environment(markdown=markdown).get_template(template).render(values)
    return (re.sub(r"\n{3,}", "\n\n", page) if markdown else page).rstrip("\n") + "\n"


@cache
def _environment(*, markdown: bool) -> Environment:
    made = Environment(
        loader=FileSystemLoader(FOLDER),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_escaped if markdown else None,
    )
    made.filters["slug"] = lambda verdict: verdict.replace(" ", "-")  # as the name of a CSS class
    made.filters["inert"] = lambda text: Markup(inert(text, cell=False))
    return made


def _escaped(value: object) -> Markup:
    return value if isinstance(value, Markup) else Markup(escaped(str(value)))


def file(name: str) -> Markup:
    """A style sheet or a script."""
    return Markup((FOLDER / name).read_text(encoding="utf-8"))


def play_page() -> str:
    """The playground. The fragment of its address is a setting: ``play.html#graph=ring&p=0.5``."""
    script = Markup("\n").join(file(f"play/{name}.js") for name in SCRIPTS)
    return rendered("play/play.html.jinja", style=file("play/play.css"), script=script)


# One HTML file.


def html_page(contents: Contents) -> str:
    """The verdicts, tables, figures and provenance. Raises a UserError if a file is absent."""
    topics: dict[str, list[int]] = {row.claim: [] for row in contents.rows}
    for k, topic in enumerate(contents.findings.topics, 1):
        for row in topic.rows:
            topics[row.claim].append(k)
    return rendered(
        "page.html.jinja",
        contents=contents,
        columns=[*ANSWERS, MARKED],
        used=sorted({row.verdict for row in contents.rows}, key=judgement.VERDICTS.index),
        topics=topics,
        style=file("page.css"),
        script=file("page.js"),
        playground=play_page() if contents.findings.play else "",
        **{"counted": counted, "counts": counts, "registered": registered, "told": told},
        **{"hue": hue, "picture": picture, "prose": prose, "answered": answered},
        table=lambda stem: Markup(body(text(stem.with_name(f"{stem.name}.html")))),
    )


def picture(path: Path) -> dict[str, object]:
    """A PNG file as a data URI, with its size in pixels and its caption.

    The part above a caption that is drawn in the picture is ``shown`` high; the page has the
    caption as text.
    """
    data = content_of(path, "report")
    with Image.open(io.BytesIO(data)) as image:
        width, height = image.size
        plain, told = LatexNodes2Text().latex_to_text, image.info.get(DESCRIPTION, "")
        caption = re.sub(r"\$[^$]+\$", lambda formula: plain(formula[0]), told)
        shown = height - round(float(image.info.get(CAPTION_SHARE) or 0) * height)
    uri = f"data:image/png;base64,{b64encode(data).decode()}"
    return {"uri": uri, "width": width, "height": height, "shown": shown, "caption": caption}


@cache
def prose(source: str) -> Markup:
    """Paragraphs of reStructuredText as HTML. They include neither files nor HTML."""
    from docutils.core import publish_parts

    strict = {"report_level": 1, "halt_level": 2, "initial_header_level": 4}
    strict |= {"raw_enabled": False, "file_insertion_enabled": False}
    return Markup(publish_parts(source, writer="html5", settings_overrides=strict)["body"])


def hue(word: str) -> str:
    """The CSS class with the colour of an answer's first word."""
    hues = {"Yes": "holds", "No": "fails", "Undecided": "undecided", "Not run": "not-run"}
    return hues.get(word.partition(",")[0], "depends")


# Markdown.

BEGIN = "<!-- summary: written by make results-page -->"
END = "<!-- end of the summary -->"
SUMMARY = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)

#: How many paragraphs of a page are its top.
TOP = 4


def paper_markdown(contents: Contents, name: str) -> str:
    """The page of a paper, ``docs/papers/NAME.md``."""
    values = _values(contents, name)
    assumptions = Markup(values["table"](contents.assumptions).replace("\n## ", "\n### "))
    told = f"{counted(counts(contents.rows))} {_provenance(contents)}"
    return rendered("paper.md.jinja", told=told, assumptions=assumptions, **values)


def results_markdown(contents: Contents, name: str) -> dict[str, str]:
    """The pages of README.md's results, by their paths in docs/."""
    values = _values(contents, name) | {"provenance": _provenance(contents)}
    top = {"summary": Markup(summary(contents)), "columns": [*ANSWERS, MARKED]}
    top |= {"counts": counts, "answered": answered}
    return {
        "results.md": rendered("results.md.jinja", **top, **values),
        "results/claims.md": rendered("claims.md.jinja", **values),
        "results/figures.md": rendered("figures.md.jinja", **values),
    }


def _values(contents: Contents, name: str) -> dict[str, Any]:
    shown = [entry for entry in contents.shown if entry.name != contents.ledger]
    return {
        "contents": replace(contents, shown=shown),
        "title": contents.findings.title or f"Results of the {contents.tier} tier",
        "topics": [*by_topic(contents)],
        "images": f"../images/{name}",
        "table": lambda stem: Markup(text(stem.with_name(f"{stem.name}.md"))),
    }


def by_topic(contents: Contents) -> Iterator[Topic]:
    """All claims, each in the first topic or question that has it, or under *Other claims*."""
    rest = {row.claim: row for row in contents.rows}
    asked = (Topic(answer.question, "", answer.rows) for answer in contents.findings.answers)
    for topic in (*contents.findings.topics, *asked):
        if rows := [rest.pop(row.claim) for row in topic.rows if row.claim in rest]:
            yield replace(topic, rows=rows)
    if rest:
        yield Topic("Other claims", "", [*rest.values()])


def warned_of(page: str, older: str) -> bool:
    """Whether the top of a page names the revisions ``older`` as makers of the results."""
    return f"earlier revision of the code ({escaped(older)})" in "".join(page.split("\n\n")[:TOP])


def _provenance(contents: Contents) -> str:
    """The tier, its number of runs, and when its claims were registered."""
    runs = f"{contents.provenance['Runs']} runs"
    return f"The tier is {contents.tier}; {runs}. {registered(contents.rows)}".strip()


def summary(contents: Contents) -> str:
    """The answers that have a short form, and the counts, between markers."""
    told, marks = counted(counts(contents.rows)), {"begin": Markup(BEGIN), "end": Markup(END)}
    return rendered("summary.md.jinja", contents=contents, counted=told, **marks).rstrip()


def summary_of(document: str) -> str:
    """The summary in a document, with its markers; empty if there is none."""
    summary = SUMMARY.search(document)
    return summary[0] if summary else ""


def for_readme(block: str) -> str:
    """A summary for README.md, in the folder above docs/."""
    return re.sub(r"(?<!\\)\]\((?=results/)", "](docs/", block)


if __name__ == "__main__":
    print(play_page(), end="")

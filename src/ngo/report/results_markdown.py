"""The results as Markdown: the pages in docs/, and the summary in README.md.

The first page has the answers and the topics; a folder of its name has the claims, and the tables
and figures. Links are relative.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup
from tabulate import tabulate

from ngo.report.contents import Contents, text
from ngo.report.findings import Findings, Topic
from ngo.report.templates import rendered
from verdicts.report import escaped
from verdicts.row import Row, counted, registered
from verdicts.statistics.judgement import NOT_RUN

BEGIN = "<!-- summary: written by make results-page -->"
END = "<!-- end of the summary -->"

ANSWER = "  - "
"""How a line under a question begins."""

TOP = 4
"""How many paragraphs of a page are its top."""


def results_markdown(contents: Contents, name: str, assumptions: str) -> dict[str, str]:
    """The pages by their paths in docs/; the first is ``NAME.md``, with a link to ``assumptions``.

    Figures are in ``images/NAME``.
    """
    run = [row for row in contents.rows if row.verdict != NOT_RUN]
    absent = [row for row in contents.rows if row.verdict == NOT_RUN]
    values = {
        "contents": contents,
        "title": contents.findings.title or f"Results of the {contents.tier} tier",
        "name": Markup(name),
        "assumptions": Markup(assumptions),
        "summary": Markup(summary(contents, name)),
        "topics": topics_table(contents.findings, f"{name}/claims.md"),
        "run": claims_table(contents, run),
        "absent": claims_table(contents, absent) if absent else "",
        "anchor": _anchor,
        "table": _table,
    }
    pages = {
        f"{name}.md": "results",
        f"{name}/claims.md": "claims",
        f"{name}/figures.md": "figures",
    }
    return {path: rendered(f"{page}.md.jinja", **values) for path, page in pages.items()}


def warned_of(page: str, older: str) -> bool:
    """Whether a page says at its top that the revisions ``older`` made the results."""
    return f"earlier revision of the code ({escaped(older)})" in "".join(page.split("\n\n")[:TOP])


def summary(contents: Contents, name: str) -> str:
    """The answers, the counts and one figure (if it is there), between markers.

    Links are those of the page ``NAME.md`` in docs/.
    """
    found = contents.findings
    told = (
        f"{counted(found.counted)} The tier is {contents.tier}; "
        f"{dict(contents.provenance)['Runs']} runs. {registered(contents.rows)}".strip()
    )
    return rendered(
        "summary.md.jinja",
        found=found,
        name=Markup(name),
        told=told,
        shown=[entry for entry in contents.shown if found.figure in entry.names],
        begin=Markup(BEGIN),
        end=Markup(END),
    ).rstrip()


def for_readme(block: str, name: str) -> str:
    """A summary in short, for README.md in the folder above docs/.

    Of the claims that say yes, no, … to a question it has the first.
    """
    lines = [line for line in block.split("\n") if not line.startswith(ANSWER) or "](" in line]
    first = [re.sub(r"; \[.*", ".", line) if line.startswith(ANSWER) else line for line in lines]
    return re.sub(rf"(?<!\\)\]\((?=images/|{name}/)", "](docs/", "\n".join(first))


def topics_table(found: Findings, page: str) -> Markup:
    """The number of claims of each topic with each verdict; a link to each topic on ``page``."""
    used = [verdict for verdict, count in found.counted.items() if count]
    rows = [
        [f"[{escaped(topic.title)}]({page}#{_anchor(topic)})", *map(topic.counted.get, used)]
        for topic in found.topics
    ]
    return Markup(tabulate(rows, ["Topic", *used], tablefmt="pipe"))


def claims_table(contents: Contents, rows: Sequence[Row]) -> Markup:
    """A table of claims, each with a link to what shows it."""
    cells = [
        {
            "Id": f'<a id="{row.anchor}"></a>{escaped(row.claim)}',
            "Claim": f"[{escaped(row.statement)}](figures.md#{contents.target(row)})"
            + played(contents.findings, row),
            "Place": escaped(row.place),
            "Verdict": row.verdict + row.also,
            "Expected": escaped(str(row.expectation or "")),
            "Measured": escaped(row.measured),
            "95 % interval": row.interval,
            "n": row.counted,
            "Reason": escaped("; ".join(filter(None, [row.why, row.registration]))),
        }
        for row in rows
    ]
    return Markup(tabulate(cells, "keys", tablefmt="pipe", disable_numparse=True))


def played(found: Findings, row: Row) -> str:
    """A link to the playground at the setting that shows a claim; empty if none does."""
    setting = found.play.get(row.claim)
    return f" · [try it](../play.html#{setting})" if setting else ""


def replaced(document: str, block: str) -> str:
    """``document`` with ``block`` in place of its summary; unchanged if it has no markers."""
    pattern = re.escape(BEGIN) + ".*?" + re.escape(END)
    return re.sub(pattern, lambda _: block, document, count=1, flags=re.DOTALL)


def summary_of(document: str) -> str:
    """The summary in a document, with its markers; empty if there is none."""
    start, end = document.find(BEGIN), document.find(END)
    return document[start : end + len(END)] if 0 <= start < end else ""


def _anchor(topic: Topic) -> str:
    return "topic-" + re.sub(r"\W+", "-", topic.title.lower()).strip("-")


def _table(stem: Path) -> Markup:
    """A saved table of Markdown."""
    return Markup(text(stem.with_name(f"{stem.name}.md")))

"""The results as Markdown: pages in docs/, and the summary in README.md.

A paper has one page, ``docs/papers/NAME.md``: answers, claims, tables and figures, assumptions and
provenance. The results of README.md have three: answers, claims, tables and figures. Figures are in
``docs/images/NAME``, and links are relative.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from markupsafe import Markup

from ngo.report.contents import Contents, text
from ngo.report.findings import Topic
from ngo.report.templates import rendered
from verdicts.report import escaped
from verdicts.verdict_rows import counted, counts, registered

BEGIN = "<!-- summary: written by make results-page -->"
REST = "<!-- the rest is not in README.md -->"
END = "<!-- end of the summary -->"
SUMMARY = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)

#: How many paragraphs of a page are its top.
TOP = 4


def by_topic(contents: Contents) -> Iterator[Topic]:
    """All claims, each in the first topic that has it, or under *Other claims*."""
    rest = {row.claim: row for row in contents.rows}
    for topic in contents.findings.topics:
        if rows := [rest.pop(row.claim) for row in topic.rows if row.claim in rest]:
            yield Topic(topic.title, topic.about, rows)
    if rest:
        yield Topic("Other claims", "", [*rest.values()])


def paper_markdown(contents: Contents, name: str) -> str:
    """The page of a paper, ``docs/papers/NAME.md``."""
    assumptions = Markup(_table(contents.assumptions).replace("\n## ", "\n### "))
    values = _values(contents, name)
    told = f"{counted(counts(contents.rows))} {_provenance(contents)}"
    return rendered("paper.md.jinja", told=told, assumptions=assumptions, **values)


def results_markdown(contents: Contents, name: str) -> dict[str, str]:
    """The pages of README.md's results, by their paths in docs/."""
    values, top = _values(contents, name), Markup(summary(contents, name))
    used = [verdict for verdict, number in counts(contents.rows).items() if number]
    return {
        "results.md": rendered("results.md.jinja", summary=top, used=used, counts=counts, **values),
        "results/claims.md": rendered("claims.md.jinja", **values),
        "results/figures.md": rendered("figures.md.jinja", **values),
    }


def _values(contents: Contents, name: str) -> dict[str, object]:
    shown = [entry for entry in contents.shown if entry.name != contents.ledger]
    return {
        "contents": replace(contents, shown=shown),
        "title": contents.findings.title or f"Results of the {contents.tier} tier",
        "topics": [*by_topic(contents)],
        "images": f"../images/{name}",
        "table": _table,
    }


def _table(stem: Path) -> Markup:
    """A saved table of Markdown."""
    return Markup(text(stem.with_name(f"{stem.name}.md")))


def warned_of(page: str, older: str) -> bool:
    """Whether the top of a page names the revisions ``older`` as makers of the results."""
    return f"earlier revision of the code ({escaped(older)})" in "".join(page.split("\n\n")[:TOP])


def _provenance(contents: Contents) -> str:
    """The tier, its number of runs, and when its claims were registered."""
    runs = dict(contents.provenance)["Runs"]
    return f"The tier is {contents.tier}; {runs} runs. {registered(contents.rows)}".strip()


def summary(contents: Contents, name: str) -> str:
    """The answers, the counts and one figure (if it is there), between markers."""
    told = {"counted": counted(counts(contents.rows)), "provenance": _provenance(contents)}
    marks = {"begin": Markup(BEGIN), "rest": Markup(REST), "end": Markup(END)}
    return rendered("summary.md.jinja", contents=contents, name=name, **told, **marks).rstrip()


def summary_of(document: str) -> str:
    """The summary in a document, with its markers; empty if there is none."""
    summary = SUMMARY.search(document)
    return summary[0] if summary else ""


def for_readme(block: str) -> str:
    """A summary in short, for README.md in the folder above docs/: the answers in words, counts."""
    short = block.removesuffix(END).partition(REST)[0] + END
    lines = [line for line in short.split("\n") if not line.startswith("  - ")]
    words = "\n".join(line for line in lines if line[:2] != "- " or line.startswith("- **"))
    return re.sub(r"(?<!\\)\]\((?=results/)", "](docs/", re.sub(r"\n{3,}", "\n\n", words))

"""The results as Markdown: the pages in docs/, and the summary in README.md.

The first page has the answers and the topics; a folder of its name has the claims, and the tables
and figures. Links are relative.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tabulate import tabulate

from ngo.figures.markdown_text import inert
from ngo.report.answers import Answer
from ngo.report.contents import Contents, Shown, text
from ngo.report.findings import LATER, Findings, Sentence, Topic
from verdicts.counts import counted, registered
from verdicts.render.markdown import escaped
from verdicts.row import Row
from verdicts.statistics.judgement import NOT_RUN

BEGIN = "<!-- summary: written by make results-page -->"
END = "<!-- end of the summary -->"

ANSWER = "  - "
"""How a line under a question begins."""

TOP = 4
"""How many paragraphs of a page are its top."""

FIRST = """\
# {title}
{warning}
{paper}

{summary}

[Every claim]({name}/claims.md) has its verdict with interval and reason. [Tables and
figures]({name}/figures.md) show what the verdicts are about. [verdicts.md](verdicts.md) explains
how verdicts are made, and when directions and margins were fixed. [{assumptions}]({assumptions})
lists the values that the paper does not state, with the reason for each. {made}

## Verdicts by topic

{topics}

The topics tell of the main claims; [the table of every claim]({name}/claims.md#every-claim) has the
others too.
"""

CLAIMS = """\
# Claims: {title}
{warning}
[Answers](../{name}.md) · [tables and figures](figures.md)

A claim is judged by one number per seed, paired within the seed, or by cases (theorems). n is the
number of seeds or cases. *Equivalent* means that the difference is smaller than the claim's margin.

## By topic

{findings}
<a id="every-claim"></a>

## Every claim

{claims}
{absent}"""

FIGURES = """\
# Tables and figures: {title}
{warning}
[Answers](../{name}.md) · [claims](claims.md)

{shown}
## Provenance

{provenance}
"""


def results_markdown(contents: Contents, name: str, assumptions: str) -> dict[str, str]:
    """The pages by their paths in docs/; the first is ``NAME.md``, with a link to ``assumptions``.

    Figures are in ``images/NAME``.
    """
    contents.check()
    title = inert(contents.findings.title, cell=False) or f"Results of the {contents.tier} tier"
    common = {"title": title, "warning": warning(contents), "name": name}
    run = [row for row in contents.rows if row.verdict != NOT_RUN]
    absent = [row for row in contents.rows if row.verdict == NOT_RUN]
    sections = (
        f"## {section}\n\n" + "\n".join(_shown(entry, f"../images/{name}") for entry in entries)
        for section, entries in contents.sections()
    )
    facts = (f"- {escaped(fact)}: {escaped(value)}" for fact, value in contents.provenance)
    return {
        f"{name}.md": FIRST.format(
            **common,
            made=_made(contents),
            assumptions=assumptions,
            paper=_paper(contents.paper),
            summary=summary(contents, name),
            topics=topics_table(contents.findings, f"{name}/claims.md"),
        ),
        f"{name}/claims.md": CLAIMS.format(
            **common,
            findings="\n".join(_topics(contents.findings)),
            claims=claims_table(contents, run),
            absent=f"\n## Not run\n\n{claims_table(contents, absent)}\n" if absent else "",
        ),
        f"{name}/figures.md": FIGURES.format(
            **common, shown="\n".join(sections), provenance="\n".join(facts)
        ),
    }


def _made(contents: Contents) -> str:
    """How these pages are made: those of a tier of the NGO paper, or of another paper."""
    name = contents.paper["name"]
    if not name:
        return ""
    if name == "ngo":
        return (
            f"`make {contents.tier}` trains the\nruns and makes these results; "
            "`make results-page` writes these pages."
        )
    return (
        f"`make paper PAPER={name}` makes these\npages from the shipped archive; "
        "without one, or with `TRAIN=1`, it trains the runs first."
    )


def _paper(paper: Mapping[str, str]) -> str:
    """The title with a link, the authors, and the claim; a user's own study may have none."""
    title, authors, claim = (escaped(paper[name]) for name in ("title", "authors", "claim"))
    linked = f"[*{title}*](<{paper['address']}>)" if paper["address"] else f"*{title}*"
    by = f" ({authors})" if authors else ""
    return f"{linked}{by}." + (f" The claim: {claim}" if claim else "")


def warning(contents: Contents) -> str:
    """A paragraph on results of an earlier revision, between empty lines; empty otherwise."""
    return f"\n**{escaped(contents.warning)}**\n" if contents.warning else ""


def warned_of(page: str, older: str) -> bool:
    """Whether a page says at its top that the revisions ``older`` made the results."""
    return f"earlier revision of the code ({escaped(older)})" in "".join(page.split("\n\n")[:TOP])


def summary(contents: Contents, name: str) -> str:
    """The answers, the counts and one figure (if it is there), between markers.

    Links are those of the page ``NAME.md`` in docs/.
    """
    found = contents.findings
    shown = [entry for entry in contents.shown if found.figure in entry.names]
    parts = [
        BEGIN,
        "\n".join(_answered(each, f"{name}/claims.md") for each in found.answers),
        LATER if found.later else "",
        f"{counted(found.counted)} The tier is {contents.tier}; "
        f"{dict(contents.provenance)['Runs']} runs. {registered(contents.rows)}".strip(),
        *(f"![{escaped(entry.title)}](images/{name}/{found.figure}.png)" for entry in shown),
        END,
    ]
    return "\n\n".join(filter(None, parts))


def for_readme(block: str, name: str) -> str:
    """A summary in short, for README.md in the folder above docs/.

    Of the claims that say yes, no, … to a question it has the first.
    """
    lines = [line for line in block.split("\n") if not line.startswith(ANSWER) or "](" in line]
    first = [re.sub(r"; \[.*", ".", line) if line.startswith(ANSWER) else line for line in lines]
    return re.sub(rf"(?<!\\)\]\((?=images/|{name}/)", "](docs/", "\n".join(first))


def _answered(answer: Answer, page: str) -> str:
    """The question and its answer, then a line for those who say yes, no, …

    Each label is a link to its claim on ``page``.
    """
    lines = [f"- {escaped(answer.question)} **{answer.word}.**"]
    for head, parts in answer.lines:
        said = "; ".join(
            f"[{escaped(part.label)}]({page}#{part.row.anchor}){escaped(part.after)}"
            for part in parts
        )
        lines.append(f"{ANSWER}{head} {said}." if head else f"{ANSWER}{said}.")
    left_out = [ANSWER + escaped(answer.left_out)] if answer.left_out else []
    return "\n".join([*lines, *left_out])


def topics_table(found: Findings, page: str) -> str:
    """The number of claims of each topic with each verdict; a link to each topic on ``page``."""
    used = [verdict for verdict, count in found.counted.items() if count]
    rows = [
        [f"[{escaped(topic.title)}]({page}#{_anchor(topic)})", *map(topic.counted.get, used)]
        for topic in found.topics
    ]
    return tabulate(rows, ["Topic", *used], tablefmt="pipe")


def claims_table(contents: Contents, rows: Sequence[Row]) -> str:
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
    return tabulate(cells, "keys", tablefmt="pipe", disable_numparse=True)


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


def _topics(found: Findings) -> list[str]:
    return [
        f'### <a id="{_anchor(topic)}"></a>{inert(topic.title, cell=False)}\n\n'
        f"{inert(topic.about, cell=False)}\n\n"
        + "\n".join([*map(_bullet, topic.sentences), *_absent(topic)])
        + "\n"
        for topic in found.topics
    ]


def _anchor(topic: Topic) -> str:
    return "topic-" + re.sub(r"\W+", "-", topic.title.lower()).strip("-")


def _bullet(sentence: Sentence) -> str:
    row = sentence.row
    details = f"; {escaped(sentence.found)}" if sentence.found else ""
    link = f"[`{row.claim}`](#{row.anchor})"
    return f"- **{escaped(row.statement)}**: {sentence.verdict}{details} {link}."


def _absent(topic: Topic) -> list[str]:
    """A line for each reason why claims were not run."""
    return [
        f"- Not run, {escaped(reason)}: "
        + ", ".join(f"{escaped(row.statement)} [`{row.claim}`](#{row.anchor})" for row in rows)
        + "."
        for reason, rows in topic.absent
    ]


def _shown(entry: Shown, images: str) -> str:
    """The heading, the description, the figures and the tables."""
    anchors = "".join(f'<a id="{name}"></a>' for name in entry.names)
    parts = [f"{anchors}\n\n### {entry.title}\n", entry.about + "\n"]
    parts += [f"![{entry.title}]({images}/{path.stem}.png)\n" for path in entry.figures]
    parts += [text(path.with_name(f"{path.name}.md")) for path in entry.tables]
    return "\n".join(parts)

"""The results as Markdown: the page docs/results.md, and the summary in README.md."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tabulate import tabulate

from ngo.figures.markdown_text import inert
from ngo.report.contents import Contents, Shown, text
from ngo.report.findings import Findings, Sentence, Topic
from verdicts.counts import counted, registered
from verdicts.render.markdown import escaped

BEGIN = "<!-- summary: written by make results-page -->"
END = "<!-- end of the summary -->"

PAGE = """\
# {title}
{warning}
{paper}

{summary}

`make {target}` trains the runs and makes these results; `make results-page` writes this page.
[{assumptions}]({assumptions}) lists the values that the paper does not state, with the reason for
each.

A claim is judged by one number per seed, paired within the seed, or by cases (theorems). n is the
number of seeds or cases. *Equivalent* means that the difference is smaller than the claim's margin.
[verdicts.md](verdicts.md) explains how verdicts are made, and when directions and margins were
fixed.

## What was found

{topics}

The topics tell of the main claims; [the table of every claim](#every-claim) has the others too.

{findings}
<a id="every-claim"></a>

## Every claim

{claims}

## Tables and figures

{shown}
## Provenance

{provenance}
"""


def results_markdown(contents: Contents, images: str, assumptions: str = "assumptions.md") -> str:
    """The page, with the figures in the folder ``images``, and a link to ``assumptions``."""
    contents.check()
    return PAGE.format(
        target=_target(contents),
        title=inert(contents.findings.title, cell=False) or f"Results of the {contents.tier} tier",
        assumptions=assumptions,
        warning=warning(contents),
        paper=_paper(contents.paper),
        summary=summary(contents, images),
        topics=topics_table(contents.findings),
        findings="\n".join(_topics(contents.findings)),
        claims=claims_table(contents),
        shown="\n".join(
            f"### {section}\n\n" + "\n".join(_shown(entry, images) for entry in entries)
            for section, entries in contents.sections()
        ),
        provenance="\n".join(
            f"- {escaped(name)}: {escaped(value)}" for name, value in contents.provenance
        ),
    )


def _target(contents: Contents) -> str:
    """What make is asked for: a tier of the NGO paper, or another paper."""
    name = contents.paper["name"]
    return contents.tier if name == "ngo" else f"paper PAPER={name}"


def _paper(paper: Mapping[str, str]) -> str:
    """The title with a link, the authors, and the claim."""
    title, authors, claim = (escaped(paper[name]) for name in ("title", "authors", "claim"))
    linked = f"[*{title}*](<{paper['address']}>)" if paper["address"] else f"*{title}*"
    return f"{linked} ({authors}). The claim: {claim}"


def warning(contents: Contents) -> str:
    """A paragraph on results of an earlier revision, between empty lines; empty otherwise."""
    return f"\n**{escaped(contents.warning)}**\n" if contents.warning else ""


def warned_of(page: str, older: str) -> bool:
    """Whether a page says above its summary that the revisions ``older`` made the results."""
    return f"earlier revision of the code ({escaped(older)})" in page.partition(BEGIN)[0]


def summary(contents: Contents, images: str, page: str = "") -> str:
    """The counts, the first findings and one figure (if it is there), between markers.

    ``page`` is the path of the page from the file with the summary; empty on the page itself.
    """
    found = contents.findings
    shown = [entry for entry in contents.shown if found.figure in entry.names]
    table = tabulate([list(found.counted.values())], list(found.counted), tablefmt="pipe")
    parts = [
        BEGIN,
        f"{counted(found.counted)} The tier is {contents.tier}; "
        f"{dict(contents.provenance)['Runs']} runs. {registered(contents.rows)}".strip(),
        table,
        "\n".join(_bullet(sentence, page) for sentence in found.first),
        *(f"![{escaped(entry.title)}]({images}/{found.figure}.png)" for entry in shown),
        END,
    ]
    return "\n\n".join(parts)


def topics_table(found: Findings) -> str:
    """The number of claims of each topic with each verdict."""
    rows = [
        [f"[{escaped(topic.title)}](#{_anchor(topic)})", *topic.counted.values()]
        for topic in found.topics
    ]
    return tabulate(rows, ["Topic", *found.counted], tablefmt="pipe")


def claims_table(contents: Contents) -> str:
    """A table of all claims, each with a link to what shows it."""
    cells = [
        {
            "Id": f'<a id="{row.anchor}"></a>{escaped(row.claim)}',
            "Claim": f"[{escaped(row.statement)}](#{contents.target(row)})",
            "Place": escaped(row.place),
            "Verdict": row.verdict + row.also,
            "Expected": escaped(str(row.expectation or "")),
            "Measured": escaped(row.measured),
            "95 % interval": row.interval,
            "n": row.counted,
            "Reason": escaped("; ".join(filter(None, [row.why, row.registration]))),
        }
        for row in contents.rows
    ]
    return tabulate(cells, "keys", tablefmt="pipe", disable_numparse=True)


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


def _bullet(sentence: Sentence, page: str = "") -> str:
    row = sentence.row
    details = f"; {escaped(sentence.found)}" if sentence.found else ""
    link = f"[`{row.claim}`]({page}#{row.anchor})"
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
    parts = [f"{anchors}\n\n#### {entry.title}\n", entry.about + "\n"]
    parts += [f"![{entry.title}]({images}/{path.stem}.png)\n" for path in entry.figures]
    parts += [text(path.with_name(f"{path.name}.md")) for path in entry.tables]
    return "\n".join(parts)

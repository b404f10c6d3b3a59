"""The contents of a page of results, in any format."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path

from ngo.report.findings import Findings
from verdicts import judgement
from verdicts.files import content_of
from verdicts.verdict_rows import Row

#: The place of the shipped campaign's file in the repository.
SHIPPED = Path("docs/results/shipped.json")

UNKNOWN = "not recorded"


@dataclass(frozen=True)
class Shipped:
    """The content of ``SHIPPED``: the answers and the verdicts of the shipped campaign."""

    #: The name of its paper.
    paper: str
    tier: str
    #: A sentence for each question.
    answers: Mapping[str, str]
    #: Of each claim that was run, by id: the verdict, and what was measured.
    verdicts: Mapping[str, Sequence[str]]


def as_shipped(contents: Contents) -> str:
    """The text of ``SHIPPED`` for these contents."""
    run = [row for row in contents.rows if row.verdict != judgement.NOT_RUN]
    answers = {answer.question: answer.sentence for answer in contents.findings.answers}
    verdicts = {row.claim: [row.verdict, row.measured] for row in run}
    content = Shipped(contents.paper["name"], contents.tier, answers, verdicts)
    return json.dumps(asdict(content), indent=0, ensure_ascii=False) + "\n"


def read_shipped(path: Path) -> Shipped:
    """Read a file that has the text of ``as_shipped``."""
    return Shipped(**json.loads(path.read_text(encoding="utf-8")))


@dataclass(frozen=True)
class Shown:
    """A table or figure, or several from one file."""

    name: str
    title: str
    section: str
    #: What it shows, what the paper says, and what to look at (reStructuredText).
    about: str
    #: PNG files.
    figures: tuple[Path, ...]
    #: Paths without suffixes; .md and .html exist.
    tables: tuple[Path, ...]

    @property
    def seen(self) -> str:
        """What it shows, in plain text: the first sentence of ``about``."""
        return " ".join(self.about.replace("*", "").split()).partition(". ")[0].rstrip(".")

    @property
    def names(self) -> list[str]:
        """The names by which claims refer to it: its own, and those of its files."""
        files = [path.stem for path in self.figures] + [path.name for path in self.tables]
        return list(dict.fromkeys([self.name, *files]))


@dataclass(frozen=True)
class Contents:
    """The verdicts, the findings, every table and figure, the assumptions, and the provenance."""

    tier: str
    #: The config's section ``paper``: title, authors, address, claim.
    paper: Mapping[str, str]
    rows: Sequence[Row]
    findings: Findings
    shown: Sequence[Shown]
    #: The name of the entry of ``shown`` that has all verdicts in full.
    ledger: str
    #: The path of the list of assumptions, without its suffix.
    assumptions: Path
    provenance: Mapping[str, str]
    #: The rows of the claims' cells.
    cells: Sequence[Row] = ()
    #: The shipped campaign, if it is another one on the same paper.
    shipped: Shipped | None = None
    #: The revisions that made the results, if the archive is marked as made by earlier ones.
    older: str = ""

    @property
    def warning(self) -> str:
        """The warning, in plain text, about an archive of an earlier revision; empty for others."""
        if not self.older:
            return ""
        return (
            f"These results were made by an earlier revision of the code ({self.older}). "
            "It has not been shown for all of them that the present code gives the same."
        )

    def sections(self) -> Iterator[tuple[str, list[Shown]]]:
        """The sections of the paper with their tables and figures, in order."""
        for section, entries in groupby(self.shown, key=lambda entry: entry.section):
            yield section, list(entries)

    def pictured(self, names: Iterable[str]) -> Shown | None:
        """The first of what is on show under these names that has a figure."""
        figures = {name: entry for entry in self.shown if entry.figures for name in entry.names}
        return next((figures[name] for name in names if name in figures), None)

    def decided_by(self, entry: Shown) -> list[Row]:
        """The claims that ``entry`` shows."""
        return [row for row in self.rows if self.target(row) in entry.names]

    def target(self, row: Row) -> str:
        """The name of what shows a claim; the ledger's if the claim names nothing."""
        return row.shows or self.ledger


def text(path: Path) -> str:
    """The text of a file on show; a UserError if it is absent."""
    return content_of(path, "report").decode("utf-8")


def provenance(
    records: Sequence[Mapping], configs: Iterable[str], plugins: Iterable[str] = ()
) -> dict[str, str]:
    """Where results come from: texts by name, from the contents of the runs' ``run.json``.

    Where runs differ, each value is followed by the number of runs that have it.
    """
    wall = sum(record["wall_seconds"] for record in records)
    libraries = sorted({name for record in records for name in record.get("versions", {})})
    known = any("processor" in record for record in records)
    return {
        "Runs": str(len(records)),
        "Training time": f"{wall / 3600:.2f} hours, the sum over runs",
        "Source revision": tally(records, "source"),
        "Results version": tally(records, "about", "code"),
        "Device": tally(records, "device"),
        **({"Processor": tally(records, "processor")} if known else {}),
        "Instructions": tally(records, "about", "instructions"),
        "Seeds": seeds(record["seed"] for record in records),
        "Data sets": tally(records, "spec", "dataset"),
        **{f"Version of {name}": tally(records, "versions", name) for name in libraries},
        "Config": ", ".join(configs),
        "Plugins": ", ".join(sorted(plugins)) or "none",
    }


def tally(records: Sequence[Mapping], *keys: str) -> str:
    """The values at a path of keys, the most frequent first, with their numbers if they differ.

    ``2.14.0 (10 runs), 2.15.0 (1 run)``.
    """
    found: Counter[str] = Counter()
    for value in records:
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        found[UNKNOWN if value in (None, "") else str(value)] += 1
    if len(found) < 2:
        return next(iter(found), UNKNOWN)
    counts = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{value} ({count} run{'s' * (count != 1)})" for value, count in counts)


def seeds(values: Iterable[int]) -> str:
    """``0 to 4, 7``: the distinct seeds, runs of successive ones as a range."""
    places = enumerate(sorted(set(values)))
    spans = [[*span] for _, span in groupby(places, lambda pair: pair[1] - pair[0])]
    ends = [dict.fromkeys((span[0][1], span[-1][1])) for span in spans]
    return ", ".join(" to ".join(map(str, both)) for both in ends) or "none"

"""Verdicts as text, Markdown, LaTeX, JSON and HTML; and the class of public functions' results."""

from __future__ import annotations

import base64
import io
import json
import math
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from verdicts.files import content_of, read_mapping, write_together
from verdicts.lazy import Figure, pd
from verdicts.registry import UserError, in_a_line, printable
from verdicts.statistics import ABSENT, number
from verdicts.table import read_table
from verdicts.verdict_rows import MARKED, Row, answered, counted, counts, registered

#: A heading, a text and a table of strings; each may be empty.
Section = tuple[str, str, "pd.DataFrame"]

#: The least of the column with the verdict.
WIDTH = 11


class Result:
    """The result of a public function: ``str`` of it is a sentence, and ``frame`` has its numbers.

    A subclass has both, and ``draw``. It may choose what of ``frame`` is ``shown``.
    """

    frame: pd.DataFrame

    def __repr__(self) -> str:
        """The sentence."""
        return str(self)

    def shown(self) -> pd.DataFrame:
        """The table as strings, for pages."""
        return as_strings(self.frame)

    def draw(self, figure: Figure) -> None:
        """Draw it on an empty figure, whose size it may change."""
        raise NotImplementedError

    def to_markdown(self) -> str:
        """The table as a pipe table, without the sentence."""
        return pipe_table(self.shown())

    def to_latex(self) -> str:
        r"""The table as a ``tabular`` with the rules of the package booktabs."""
        return latex_table(self.shown())

    def _repr_html_(self) -> str:
        return f"<p>{escape(str(self))}</p>\n{html_table(self.shown(), 'Result')}"

    def plot(self, path: str | Path | None = None) -> Figure:
        """The picture, which is also written to ``path`` (PNG, PDF, SVG).

        Raises a UserError without matplotlib, and for a file that it can't write.
        """
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise UserError("picture: it needs matplotlib, which is not installed.") from None
        figure = Figure(layout="constrained")
        self.draw(figure)
        try:
            if path is not None:
                figure.savefig(path)
        except (OSError, ValueError) as error:
            raise UserError(f"picture: {str(path)!r}: {in_a_line(error)}.") from None
        return figure


def as_strings(table: pd.DataFrame) -> pd.DataFrame:
    """A table as strings, with headers in capitals (but z and p), without columns that are empty.

    Numbers have four digits.
    """
    texts = table.map(_string)
    names = map(str, table.columns)
    texts.columns = [name if len(name) == 1 else name[:1].upper() + name[1:] for name in names]
    return texts.loc[:, (texts != ABSENT).any()]


def _string(value: object) -> str:
    if isinstance(value, float):
        value = "" if math.isnan(value) else f"{value:.4g}".replace("-", "−")
    return str(value).strip() or ABSENT


def as_text(rows: Sequence[Row]) -> str:
    """Two lines for each claim or cell, and the counts."""
    told = filter(None, [counted(counts(rows)), registered(rows)])
    width = max([WIDTH, *(len(row.verdict) + 2 for row in rows)])
    return "\n".join([*(lines_of(row, width) for row in rows), "", *told]) + "\n"


def lines_of(row: Row, width: int = WIDTH) -> str:
    """A claim with its verdict, and below it what was measured."""
    what = f"  {row.claim} / {row.cell}" if row.cell else f"{row.claim}: {row.statement}"
    coming = f"the next planned look takes {row.next_look} seeds" if row.next_look else ""
    found = (row.measured, *row.details, row.why, coming, row.registration)
    told = "; ".join(text for text in found if text not in ("", ABSENT))
    return f"{row.verdict:<{width}}{what}" + (f"\n{'':{width}}  {told}" if told else "")


@cache
def page_texts(page: str) -> Any:
    """The words of a page, by name (``page_texts.yaml``)."""
    return read_mapping(Path(__file__).with_name("page_texts.yaml"), "texts")[page]


#: What the columns of the tables of verdicts mean.
EXPLAINED: str = page_texts("verdicts")


def print_board(rows: Iterable[Row], *, cells: bool = False) -> pd.DataFrame:
    """The claims among ``rows``, or their cells, as a table of strings."""
    return pd.DataFrame([_line(row) for row in rows if bool(row.cell) == cells])


def _line(row: Row) -> dict[str, str]:
    what = {"Cell": row.cell} if row.cell else {"Place": row.place, "Statement": row.says}
    return {
        "Claim": row.claim,
        **what,
        "Verdict": row.verdict,
        "Expected": str(row.expectation or ABSENT),
        "Measured": row.measured,
        "Interval": row.interval,
        "n": row.counted,
        "p": "< 0.001" if row.deciding_p < 0.001 else number(row.deciding_p, 3),
        "Smallest effect": number(row.detectable),
        "Seeds needed": _seeds(row.seeds_needed),
        "Reason": "; ".join(filter(None, (*row.remarks, row.hardest_case, row.registration)))
        or ABSENT,
        "Shown in": row.shows or ABSENT,
    }


def _seeds(value: float) -> str:
    return "> 10,000" if value > 1e4 else ABSENT if math.isnan(value) else f"{value:,.0f}"


def as_markdown(rows: Sequence[Row]) -> str:
    """A page: the counts, a table of the claims, and one of their cells if there are any."""
    return markdown_page("Verdicts", _sections(rows))


def _sections(rows: Sequence[Row]) -> list[Section]:
    claims, cells, none = print_board(rows), print_board(rows, cells=True), pd.DataFrame()
    head = [("", counted(counts(rows)), none), ("", registered(rows), claims)]
    return [*head, ("", EXPLAINED, none), ("Parts of claims" * bool(len(cells)), "", cells)]


def markdown_page(title: str, sections: Iterable[Section], picture: str = "", alt: str = "") -> str:
    """A page in Markdown; ``picture`` is the name of its file, or empty, and ``alt`` its text."""
    parts = [f"# {escaped(title)}", f"![{escaped(alt)}]({picture})" if picture else ""]
    for heading, text, table in sections:
        parts += [f"## {heading}" if heading else "", escaped(text)]
        parts += [] if table.empty else [pipe_table(table)]
    return "\n\n".join(filter(None, parts)) + "\n"


def pipe_table(printed: pd.DataFrame) -> str:
    """A table of strings as a pipe table; characters with a meaning in Markdown are escaped."""
    lines = [list(printed.columns), ["---"] * printed.shape[1], *printed.itertuples(index=False)]
    return "\n".join("| " + " | ".join(map(escaped, line)) + " |" for line in lines)


def escaped(plain: str) -> str:
    """Text on one line that has no meaning in Markdown, in a table too."""
    return re.sub(r"([\\`*_|<>\[\]])", r"\\\1", " ".join(plain.splitlines()))


#: Characters with a meaning in LaTeX, or that its fonts lack.
LATEX = str.maketrans({character: f"\\{character}" for character in "&%$#_{}"} | {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "−": "$-$", "±": r"$\pm$", "≤": r"$\le$", "≥": r"$\ge$", "–": "--", "\u00a0": "~",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
})  # fmt: skip


def as_latex(rows: Sequence[Row]) -> str:
    """The claims as a table of LaTeX."""
    return latex_table(print_board(rows)) + "\n"


def latex_table(printed: pd.DataFrame) -> str:
    """A table of strings as a ``tabular`` with booktabs' rules; text is escaped."""
    lines = (printed.columns.to_list(), *printed.itertuples(index=False))
    texts = ([" ".join(text.splitlines()).translate(LATEX) for text in line] for line in lines)
    head, *body = (" & ".join(line) + r" \\" for line in texts)
    begin = rf"\begin{{tabular}}{{{'l' * printed.shape[1]}}}"
    rules = begin, r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"
    return "\n".join(rules)


#: Of the format: it changes when a field is renamed or removed.
VERSION = 1


def as_json(rows: Sequence[Row]) -> str:
    """``{"version": 1, "counts": {…}, "rows": […]}``; a number that is not finite is null or a
    string (``"Infinity"``, ``"-Infinity"``), since JSON has none.
    """
    whole = {"version": VERSION, "counts": counts(rows), "rows": [asdict(row) for row in rows]}
    text = json.dumps(whole)
    plain = json.loads(text, parse_constant=lambda name: None if name == "NaN" else name)
    return json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def as_line(rows: Sequence[Row]) -> str:
    """One line of JSON: the version, the counts, and the verdict of each claim by its id."""
    said = {row.claim: row.verdict for row in rows if not row.cell}
    return json.dumps({"version": VERSION, "counts": counts(rows), "verdicts": said}) + "\n"


def as_badge(rows: Sequence[Row]) -> str:
    """A picture (SVG) that says how many claims hold; green if all do. Marked ones do not count."""
    found = answered(counts(rows))
    held, every = found["hold"], sum(found.values()) - found[MARKED]
    says, colour = f"{held} of {every} hold", "#12652a" if held == every else "#7a4b00"
    return _file("page_badge.svg").format(says=says, colour=colour, width=64 + 7 * len(says))


def as_page(rows: Sequence[Row], title: str = "Verdicts", shown: Sequence[Path] = ()) -> str:
    """A page with the counts, a table of the claims, and one of their cells if there are any.

    It has the pictures (PNG) and tables (CSV) ``shown``, too. All text is escaped: nothing in a
    claims file becomes markup.
    """
    pictures = [path for path in shown if path.suffix == ".png"]
    tables = [path for path in shown if path.suffix != ".png"]
    more = [(path.stem, "", as_strings(read_table(path))) for path in tables]
    return html_page(title, _sections(rows) + more, *(content_of(p, "show") for p in pictures))


def html_page(title: str, sections: Iterable[Section], *pictures: bytes, alt: str = "") -> str:
    """A page as one HTML file, with ``pictures`` (PNG) inside. All text is escaped."""
    parts = [f"<h1>{escape(title)}</h1>"]
    for picture in filter(None, pictures):
        source = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
        parts.append(f'<img alt="{escape(alt)}" style="max-width: 100%" src="{source}">')
    for heading, text, table in sections:
        parts += [f"<h2>{escape(heading)}</h2>" if heading else ""]
        parts += [f"<p>{escape(text)}</p>" if text else ""]
        parts += [] if table.empty else [html_table(table, heading or title)]
    body = "\n".join(filter(None, parts))
    return _file("page.html").format(title=escape(title), style=_file("page.css"), body=body)


def _file(name: str) -> str:
    """The text of a file beside this one."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def write_page(
    folder: Path, name: str, found: Result, sections: Sequence[Section], title: str, alt: str,
    inputs: Iterable[Path],
) -> None:  # fmt: skip
    """Write a result to files of this ``name``: the page (.md, .html), its picture, and all rows.

    All are written, or none; ``inputs`` are files that are not written over.
    """
    stream = io.BytesIO()
    with suppress(UserError):  # matplotlib is not installed
        found.plot().savefig(stream, format="png", dpi=150)
    drawn = stream.getvalue()
    picture = f"{name}.png" if drawn else ""
    texts = {"md": markdown_page(title, sections, picture, alt)}
    texts["html"] = html_page(title, sections, drawn, alt=alt)
    texts["csv"] = found.frame.to_csv(index=False, lineterminator="\n")
    files = {f"{name}.{end}": printable(text, keep="\n") for end, text in texts.items()}
    write_together(folder, {**files, **({picture: drawn} if drawn else {})}, inputs)


def html_table(printed: pd.DataFrame, name: str) -> str:
    """A table of strings, which are escaped; the column Verdict has its colours."""
    heads = "".join(f'<th scope="col">{escape(column)}</th>' for column in printed.columns)
    rows = ("".join(map(_cell, printed.columns, row)) for row in printed.to_numpy())
    lines = "\n".join(f"<tr>{row}</tr>" for row in rows)
    return (
        f'<div class="scroll" tabindex="0"><table aria-label="{escape(name)}">\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{lines}\n</tbody>\n</table></div>"
    )


def _cell(column: str, text: str) -> str:
    verdict = text.partition(",")[0].replace(" ", "-")
    colour = f' class="verdict {escape(verdict)}"' if column == "Verdict" else ""
    return f"<td{colour}>{escape(text)}</td>"

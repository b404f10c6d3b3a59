"""The page *Is this a reproduction?* as Markdown, as one HTML file, and its picture."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from verdicts.files import write_together
from verdicts.registry import printable
from verdicts.report import escaped, html_page, html_table, pipe_table
from verdicts.reproduction import (
    GAP,
    IN_GAPS,
    LEVEL,
    NOT_REPRODUCED,
    NOT_TOLD,
    REPRODUCED,
    Count,
    Reproduction,
    comparable,
)  # fmt: skip
from verdicts.row import ABSENT
from verdicts.statistics.estimates import ALPHA
from verdicts.statistics.judgement import CANNOT_TELL, CONSISTENT, NOT_MET
from verdicts.statistics.multiverse import share_interval

TITLE = "Is this a reproduction?"

RULE = (
    "Levels agree, and so do gaps, if chance may leave out so many, and one so far off: neither "
    "the probability that so few lie inside, if each does with 95 %, is below 2.5 %, nor the p "
    "value of the farthest (Cochran's Q, times their number). They can be told if at least half "
    "are consistent, so that zero does not lie inside, too. Without gaps, the levels decide. Cells "
    "share seeds and data, so that a count is less certain than its interval says."
)

#: The rule, case by case: of levels, of gaps, and the answer.
CASES = (
    ("agree", "agree, and can be told", REPRODUCED),
    ("do not agree", "agree, and can be told", IN_GAPS),
    ("do not agree", "agree, and cannot be told", NOT_REPRODUCED),
    ("agree, or not", "do not agree", NOT_REPRODUCED),
    ("agree", "agree, and cannot be told", NOT_TOLD),
)

READ = (
    "Interval: where the printed number lies with probability 95 %, if it is of runs like ours. "
    "Consistent: it does; not met: it does not; cannot be told: it does, and so does zero. z: ours "
    "− printed, in standard errors of this difference."
)

ASSUMED = (
    "Where no spread (± a standard error) is printed, a number counts as one run with the spread "
    "of ours, or as the mean of so many runs as are stated, and two that make a gap as paired by "
    "seed, as ours are; with printed spreads, they are independent. A number may be off by half of "
    "its last digit. Our own standard errors are widened for all definitions but the first, so "
    "that a normal interval of 95 % is Student's."
)

#: The definitions: the name, what it asks, its source, the column of rows, and what meets it.
DEFINITIONS: tuple[tuple[str, str, str, str, Callable[[Any], bool]], ...] = (
    ("prediction interval", "does the printed number lie where ours lets expect it?",
     "Patil, Peng and Leek 2016", "inside", bool),
    ("same sign", "is our gap on the side of the paper's?", ABSENT, "same_sign", bool),
    ("same sign and significant", "is it, with p ≤ 5 %?",
     "Open Science Collaboration 2015", "significant", bool),
    ("small telescopes", "could the paper have seen a gap like ours? (p ≥ 5 %)",
     "Simonsohn 2015", "telescopes_p", lambda p: p >= 0.05),
    ("sceptical p", "do both convince a sceptic? (two-sided p ≤ 5 %)",
     "Held 2020", "sceptical_p", lambda p: p <= 0.05),
    ("sceptical p, golden level", "do both, on one side? (p ≤ 2.5 %)",
     "Held, Micheloud and Pawel 2022", "golden_p", lambda p: p <= 0.025),
    ("equivalence", "do both differ by less than the margin? (p ≤ 5 %)",
     "Schuirmann 1987", "equivalence_p", lambda p: p <= 0.05),
)  # fmt: skip


#: A heading, a text and a table; each may be empty.
Section = tuple[str, str, pd.DataFrame]


def sections(found: Reproduction, by: Sequence[str] = ()) -> Iterator[Section]:
    """What the page says; ``by`` are keys, by whose values there is an answer for each part."""
    answer, levels, gaps = found.answer()
    told = (_counted("printed number", levels), _counted("gap", gaps))
    yield "", " ".join([f"{answer.capitalize()}.", *filter(None, told)]), pd.DataFrame()
    if by:
        yield "Part by part", "", pd.DataFrame(_parts(found, by))
    margin = f"The margin is {found.margin:g}." if found.margin else "No margin is given."
    yield "By which definition?", margin, pd.DataFrame(_definitions(found))
    for kind, heading, text in ((LEVEL, "Printed numbers", READ), (GAP, "Gaps", "")):
        if len(rows := found.of(kind)):
            yield heading, text, _listed(rows, found.keys)
    near = ((part, found.settings(part)) for part in found.parts(by))
    if nearest := [pd.DataFrame({**part, **table}) for part, table in near if len(table)]:
        text = "Distance: the root mean square of ours − printed, where there are several settings."
        yield "Other settings", text, pd.concat(nearest)
    yield "The rule", RULE, pd.DataFrame(CASES, columns=["levels", "gaps", "answer"])
    yield "What is assumed", ASSUMED, pd.DataFrame()


def as_markdown(content: Iterable[Section], title: str = TITLE, picture: str = "") -> str:
    """The page in Markdown; ``picture`` is the name of its file, or empty."""
    parts = [f"# {escaped(title)}"]
    for heading, text, table in content:
        parts += [f"## {heading}"] if heading else []
        parts += [escaped(text) if heading else f"**{escaped(text)}**"] if text else []
        parts += [] if heading or not picture else [f"![Printed against ours]({picture})"]
        parts += [pipe_table(_as_text(table))] if len(table) else []
    return "\n\n".join(parts) + "\n"


def as_page(content: Iterable[Section], title: str = TITLE, picture: bytes = b"") -> str:
    """The page as one HTML file, with the picture inside. All text is escaped."""
    data = base64.b64encode(picture).decode()
    look = 'alt="Printed against ours" style="max-width: 100%"'
    image = f'<img {look} src="data:image/png;base64,{data}">'
    parts = [f"<h1>{escape(title)}</h1>"]
    for heading, text, table in content:
        parts += [f"<h2>{escape(heading)}</h2>"] if heading else []
        parts += [f"<p>{escape(text)}</p>" if heading else f"<p><b>{escape(text)}</b></p>"]
        parts += [] if heading or not picture else [image]
        parts += [html_table(_as_text(table), heading)] if len(table) else []
    return html_page(title, parts)


def write(
    folder: Path,
    found: Reproduction,
    by: Sequence[str] = (),
    more: Iterable[Section] = (),
    title: str = TITLE,
    inputs: Iterable[Path] = (),
) -> None:
    """Write the page, its picture and all rows: ``reproduction.md``, ``.html``, ``.png``, ``.csv``.

    ``more`` are further sections; ``inputs`` are files that are not written over.
    """
    content, drawn = [*sections(found, by), *more], picture(found, by)
    name = "reproduction"
    texts = {
        "md": as_markdown(content, title, f"{name}.png" if drawn else ""),
        "html": as_page(content, title, drawn),
        "csv": found.rows.to_csv(index=False, lineterminator="\n"),
    }
    files = {f"{name}.{k}": printable(text, keep="\n").encode() for k, text in texts.items()}
    write_together(folder, files | ({f"{name}.png": drawn} if drawn else {}), inputs)


def _counted(what: str, count: Count) -> str:
    if not count.number:
        return ""
    shares = share_interval(count.inside, count.number, ALPHA)
    low, high = (f"{100 * share:.0f}" for share in shares)
    zero, share = count.inside - count.consistent, 100 * count.inside / count.number
    so_few, farthest = (
        "< 0.001" if p < 0.001 else f"= {p:.2g}" for p in (count.so_few, count.farthest)
    )
    return (
        f"{count.inside} of {count.number} {what}s lie inside the prediction interval ({share:.0f} "
        f"% [{low}, {high}]; by chance 95 %; so few with p {so_few}, the farthest p {farthest})"
        + (f"; so does zero, in {zero} of these." if zero else ".")
    )


def _parts(found: Reproduction, by: Sequence[str]) -> Iterator[dict[Any, str]]:
    for part in found.parts(by):
        answer, levels, gaps = found.answer(part)
        if levels.number or gaps.number:
            counts = {"levels inside": levels, "gaps inside": gaps}
            told = {name: f"{of.inside} of {of.number}" for name, of in counts.items()}
            consistent = f"{gaps.consistent} of {gaps.number}"
            yield {**part, **told, "gaps consistent": consistent, "answer": answer}


def _definitions(found: Reproduction) -> Iterator[dict[str, str]]:
    for name, asks, source, column, met in DEFINITIONS:
        line = {"definition": name, "asks": asks, "source": source}
        for kind in (LEVEL, GAP):
            values = comparable(found.of(kind)).get(column, pd.Series(dtype=float)).dropna()
            line[f"{kind}s"] = f"{values.map(met).sum()} of {len(values)}" if len(values) else ""
        yield line
    if found.gaps:
        same, rows = found.same_order()
        asks, told = f"is the order of {found.gaps[0]}s the paper's?", f"{same} of {rows} rows"
        yield {"definition": "order", "asks": asks, "source": ABSENT, "levels": told, "gaps": ""}


def _listed(rows: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """The rows as the page shows them."""
    texts = rows.map(_text)
    notes = [filter(None, row) for row in rows[["note", "apart", "setting"]].to_numpy()]
    spread = ("\u00a0±\u00a0" + texts["se"]).where(rows["se"].notna(), "")
    printed = rows["printed"].map("{:g}".format).str.replace("-", "−") + spread
    interval = (texts["low"] + "\u00a0to\u00a0" + texts["high"]).where(rows["low"].notna(), "")
    added = {"printed": printed + "\u00a0" + rows["unit"], "interval": interval}
    names = ("page", "printed", "ours", "seeds", "interval", "verdict", "z", "note")
    table = rows.assign(**added, z=rows["z"].round(2), note=[*map("; ".join, notes)])
    return table[[*keys, *names]]


def _text(value: object) -> str:
    if isinstance(value, float):
        value = "" if math.isnan(value) else f"{value:.4g}".replace("-", "−")
    return str(value).strip() or ABSENT


def _as_text(table: pd.DataFrame) -> pd.DataFrame:
    """A table as strings, without columns that are empty."""
    texts = table.map(_text).rename(
        columns=lambda name: name if len(name) == 1 else name.capitalize()
    )
    return texts.loc[:, (texts != ABSENT).any()]


#: The colour and the marker of each verdict in the picture.
DRAWN = {CONSISTENT: ("#12652a", "o"), NOT_MET: ("#a3201c", "X"), CANNOT_TELL: ("#7a7a7a", "s")}


def picture(found: Reproduction, by: Sequence[str] = ()) -> bytes:
    """Printed numbers against ours, with the intervals, a panel for each part, as PNG.

    Empty if matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        return b""
    groups = [(part, found.of(kind, part)) for kind in (LEVEL, GAP) for part in found.parts(by)]
    shown = [(part, rows) for part, rows in groups if rows["low"].notna().any()]
    wide = max(1, min(5, len(shown)))
    high = max(1, math.ceil(len(shown) / wide))
    figure = Figure((3.1 * wide, 3.2 * high + 0.4), dpi=110, layout="constrained")
    panels = figure.subplots(high, wide, squeeze=False).flat
    for panel, (part, rows) in zip(panels, shown, strict=False):
        _draw(panel, rows)
        panel.set_title(" · ".join(filter(None, part.values())), fontsize=9, parse_math=False)
    for panel in panels[len(shown) :]:
        panel.set_axis_off()
    marks = {mark.get_label(): mark for panel in panels for mark in panel.containers}
    figure.legend([*marks.values()], [*marks], loc="outside lower center", ncols=3, fontsize=8)
    stream = io.BytesIO()
    figure.savefig(stream, format="png")
    return stream.getvalue()


def _draw(panel: Any, rows: pd.DataFrame) -> None:
    """Points with bars, and the line on which both numbers are the same."""
    kind, unit = rows[["kind", "unit"]].iloc[0]
    for verdict, (colour, marker) in DRAWN.items():
        if len(of := rows[rows["verdict"] == verdict]):
            look = {"color": colour, "fmt": marker, "markersize": 5, "elinewidth": 1, "alpha": 0.8}
            panel.errorbar(
                of["printed"], of["ours"], of["high"] - of["ours"], label=verdict, **look
            )
    values = rows.loc[rows["low"].notna(), ["printed", "low", "high"]].to_numpy()
    around = 0.05 * (values.max() - values.min() or 1)
    ends = values.min() - around, values.max() + around
    panel.axline((0, 0), slope=1, color="0.6", linewidth=0.8, zorder=0)
    panel.set(xlim=ends, ylim=ends, aspect="equal", ylabel=f"our {kind}")
    panel.set_xlabel(f"printed {kind}{f' ({unit})' if unit else ''}", parse_math=False)
    if kind == GAP:
        panel.axhline(0, color="0.6", linewidth=0.8, linestyle=":", zorder=0)
    panel.tick_params(labelsize=7)

"""The page *Is this a reproduction?* as Markdown, as one HTML file, and its picture."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from verdicts.files import write_together
from verdicts.printed_tables import as_csv
from verdicts.report import escaped, html_page, html_table, pipe_table
from verdicts.reproduction import (
    GAP,
    IN_GAPS,
    INSIDE,
    LEVEL,
    NOT_REPRODUCED,
    NOT_TOLD,
    REPRODUCED,
    Count,
    Reproduction,
    comparable,
)
from verdicts.row import ABSENT
from verdicts.statistics.judgement import CANNOT_TELL, CONSISTENT, NOT_MET

RULE = (
    "Levels agree, and so do gaps, if no fewer lie inside than chance leaves out: the probability "
    "of so few or fewer, if each does with 95 %, is above 5 %. They can be told if at least half of "
    "their intervals exclude zero, or the printed number. Without gaps, the levels must be told. "
    "Cells share seeds and data, so that counts are less certain than their intervals say."
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
    "Consistent: it does; not met: it does not; cannot be told: it does, and so does zero. "
    "Difference: ours − printed, in standard errors of this difference."
)

#: What each definition asks of a row: its name, the question, the source, the column and the test.
DEFINITIONS = (
    ("prediction interval", "does it lie where our runs let expect it?",
     "Patil, Peng and Leek 2016", "inside", bool),
    ("same sign", "is our gap on the side of the paper's?", "", "same_sign", bool),
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


@dataclass(frozen=True)
class Section:
    """A heading, a sentence or more, and a table of strings; each may be empty."""

    heading: str
    text: str
    table: pd.DataFrame


def sections(found: Reproduction, by: Sequence[str] = ()) -> Iterator[Section]:
    """What the page says; ``by`` are keys, by whose values there is an answer for each part."""
    answer, levels, gaps = found.answer()
    none = pd.DataFrame()
    told = [_counted("printed number", levels), _counted("gap", gaps)]
    yield Section("", f"{answer.capitalize()}. " + " ".join(filter(None, told)), none)
    if by:
        yield Section("Part by part", "", pd.DataFrame(_parts(found, by)))
    text = f"The margin is {found.margin:g}." if found.margin else "No margin is given."
    yield Section("By which definition?", text, pd.DataFrame(_definitions(found)))
    for kind, heading in ((LEVEL, "Printed numbers"), (GAP, "Gaps")):
        if len(rows := found.of(kind)):
            yield Section(heading, READ if kind == LEVEL else "", _printed(rows, found.keys))
    nearest = found.settings()
    if len(nearest):
        text = "Distance: the root mean square of ours − printed, over the numbers with a choice."
        table = nearest.assign(distance=nearest["distance"].map(_number))
        table = table.assign(farthest=table["farthest"].map(_number)).astype(str)
        yield Section("Other settings", text, table.rename(columns=str.capitalize))
    yield Section("The rule", RULE, pd.DataFrame(CASES, columns=["Levels", "Gaps", "Answer"]))
    yield Section("What is assumed", _assumed(found), none)


def as_markdown(title: str, content: Sequence[Section], picture: str = "") -> str:
    """The page in Markdown; ``picture`` is the name of its file, or empty."""
    parts = [f"# {escaped(title)}"]
    for number, section in enumerate(content):
        parts += [f"## {section.heading}"] if section.heading else []
        text = escaped(section.text)
        parts += [f"**{text}**" if number == 0 else text] if text else []
        parts += [pipe_table(section.table)] if len(section.table) else []
        parts += [f"![Printed against ours]({picture})"] if picture and number == 0 else []
    return "\n\n".join(parts) + "\n"


def as_page(title: str, content: Sequence[Section], picture: bytes = b"") -> str:
    """The page as one HTML file, with the picture inside. All text is escaped."""
    parts = [f"<h1>{escape(title)}</h1>"]
    for number, section in enumerate(content):
        parts += [f"<h2>{escape(section.heading)}</h2>"] if section.heading else []
        text = escape(section.text)
        parts += [f"<p>{f'<b>{text}</b>' if number == 0 else text}</p>"] if text else []
        parts += [html_table(section.table, section.heading)] if len(section.table) else []
        if picture and number == 0:
            data = base64.b64encode(picture).decode()
            style = "max-width: 100%; background: white"
            parts += [
                f'<img alt="Printed against ours" style="{style}" '
                f'src="data:image/png;base64,{data}">'
            ]
    return html_page(title, parts)


def write(
    folder: Path,
    title: str,
    found: Reproduction,
    by: Sequence[str] = (),
    more: Iterable[Section] = (),
    inputs: Iterable[Path] = (),
) -> None:
    """Write the page, its picture and all rows: ``reproduction.md``, ``.html``, ``.png``, ``.csv``.

    ``more`` are further sections; ``inputs`` are files that are not written over.
    """
    content, drawn = [*sections(found, by), *more], picture(found, by)
    files: dict[str, str | bytes] = {
        "md": as_markdown(title, content, "reproduction.png" if drawn else ""),
        "html": as_page(title, content, drawn),
        "csv": as_csv(found.rows),
        **({"png": drawn} if drawn else {}),
    }
    write_together(folder, {f"reproduction.{k}": file for k, file in files.items()}, inputs)


def _counted(what: str, count: Count) -> str:
    if not count.number:
        return ""
    low, high = (f"{100 * limit:.0f}" for limit in count.interval)
    zero = count.number - count.told
    also = f" Of {zero} of them, zero lies inside, too." if zero else ""
    return (
        f"{count.inside} of {count.number} {what}s lie inside the prediction interval "
        f"({100 * count.inside / count.number:.0f} % [{low}, {high}]; by chance "
        f"{100 * INSIDE:.0f} %, so few with p {_p(count.by_chance)}).{also}"
    )


def _parts(found: Reproduction, by: Sequence[str]) -> Iterator[dict[str, str]]:
    for part in found.parts(by):
        answer, levels, gaps = found.answer(part)
        if levels.number or gaps.number:
            yield {
                **{name.capitalize(): value or ABSENT for name, value in part.items()},
                "Levels inside": f"{levels.inside} of {levels.number}",
                "Gaps inside": f"{gaps.inside} of {gaps.number}",
                "Gaps told from zero": f"{gaps.told} of {gaps.number}",
                "Answer": answer,
            }


def _definitions(found: Reproduction) -> Iterator[dict[str, str]]:
    for name, question, source, column, met in DEFINITIONS:
        line = {"Definition": name, "Question": question, "Source": source or ABSENT}
        for kind in (LEVEL, GAP):
            rows = comparable(found.of(kind))
            values = list(rows[column].dropna()) if column in rows else []
            told = f"{sum(map(bool, map(met, values)))} of {len(values)}" if len(values) else ABSENT
            line[f"{kind.capitalize()}s"] = told
        if {line["Levels"], line["Gaps"]} != {ABSENT}:
            yield line
    same, rows_of_table = found.same_order()
    if rows_of_table:
        question = f"have all values of {found.gaps[0] if found.gaps else ''} the same order?"
        told = f"{same} of {rows_of_table} rows"
        yield {
            "Definition": "order",
            "Question": question,
            "Source": ABSENT,
            "Levels": told,
            "Gaps": ABSENT,
        }


def _printed(rows: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    lines = []
    for row in rows.to_dict("records"):
        notes = [row["note"], f"apart: {row['apart']}" if row["apart"] else "", row["setting"]]
        spread = (
            ""
            if row["se_assumed"] or math.isnan(row["z"])
            else f" (se {_number(row['printed_se'])})"
        )
        lines.append(
            {
                **{name.capitalize(): row[name] or ABSENT for name in keys},
                "Page": row["page"] or ABSENT,
                "Printed": f"{row['printed']:.6g}{spread} {row['unit']}".strip().replace("-", "−"),
                "Ours": _number(row["ours"]),
                "Seeds": str(row["seeds"]) if row["seeds"] else ABSENT,
                "Interval": _interval(row["low"], row["high"]),
                "Verdict": row["verdict"],
                "Difference": _number(row["z"], 2),
                "Note": "; ".join(filter(None, notes)) or ABSENT,
            }
        )
    table = pd.DataFrame(lines)
    return table.loc[:, (table != ABSENT).any()]


def _assumed(found: Reproduction) -> str:
    rows = comparable(found.rows[found.rows["main"]])
    without = int(rows["se_assumed"].sum())
    spread = (
        f"Of {without} of {len(rows)} numbers and gaps, no spread is printed: each counts as one "
        "run with the spread of ours, or as the mean of so many as are stated. "
        if without
        else "The spread of every number is printed. "
    )
    return spread + (
        "Our own standard errors are widened, so that a normal interval of 95 % is Student's. Two "
        "printed numbers that make a gap count as paired if no spread is printed, as ours are by "
        "seed, and else as independent."
    )


def picture(found: Reproduction, by: Sequence[str] = ()) -> bytes:
    """Printed numbers against ours, with the intervals, a panel for each part, as PNG.

    Empty if matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        return b""
    rows = comparable(found.rows[found.rows["main"]], apart=True)
    parts = [part for part in (found.parts(by) if by else [{}]) if len(_of(rows, part))]
    kinds = [kind for kind in (LEVEL, GAP) if (rows["kind"] == kind).any()]
    size = 3.2 * len(parts), 3.2 * len(kinds)
    figure = Figure(figsize=size, layout="constrained", dpi=120)
    panels = figure.subplots(len(kinds), len(parts), squeeze=False)
    for line, kind in zip(panels, kinds, strict=True):
        for panel, part in zip(line, parts, strict=True):
            shown = _of(rows[rows["kind"] == kind], part)
            _draw(panel, shown)
            unit = next(iter(shown["unit"]), "")
            panel.set_title(" · ".join(filter(None, part.values())) or kind, fontsize=9)
            panel.set_xlabel(f"printed {kind}{f' ({unit})' if unit else ''}", fontsize=8)
            panel.set_ylabel(f"our {kind}", fontsize=8)
            panel.tick_params(labelsize=7)
    handles: dict[str, Any] = {}
    for panel in panels.flat:
        handles |= {h.get_label(): h for h in panel.containers}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3, fontsize=8)
    stream = io.BytesIO()
    figure.savefig(stream, format="png")
    return stream.getvalue()


#: The colour and the marker of each verdict in the picture.
DRAWN = {CONSISTENT: ("#12652a", "o"), NOT_MET: ("#a3201c", "X"), CANNOT_TELL: ("#7a7a7a", "s")}


def _of(rows: pd.DataFrame, part: Mapping[Any, str]) -> pd.DataFrame:
    for name, value in part.items():
        rows = rows[rows[name] == value]
    return rows


def _draw(panel: Any, rows: pd.DataFrame) -> None:
    """Points with bars, and the line on which both numbers are the same."""
    for verdict, (colour, marker) in DRAWN.items():
        of = rows[rows["verdict"] == verdict]
        if len(of):
            half = of["high"] - of["ours"]
            panel.errorbar(
                of["printed"], of["ours"], half, fmt=marker, color=colour, label=verdict,
                markersize=5, elinewidth=1, alpha=0.8,
            )  # fmt: skip
    if rows.empty:
        panel.set_axis_off()
        return
    values = rows[["printed", "low", "high"]].to_numpy()
    around = 0.05 * (values.max() - values.min() or 1)
    ends = values.min() - around, values.max() + around
    panel.axline((0, 0), slope=1, color="0.6", linewidth=0.8, zorder=0)
    panel.set(xlim=ends, ylim=ends, aspect="equal")
    if rows["kind"].iloc[0] == GAP:
        panel.axhline(0, color="0.6", linewidth=0.8, linestyle=":", zorder=0)


def _number(value: float, digits: int = 4) -> str:
    if math.isnan(value):
        return ABSENT
    return f"{value:.{digits}g}".replace("inf", "∞").replace("-", "−")


def _interval(low: float, high: float) -> str:
    return ABSENT if math.isnan(low) else f"{_number(low)} to {_number(high)}"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"= {value:.2g}"

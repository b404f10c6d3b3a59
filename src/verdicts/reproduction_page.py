"""The page *Is this a reproduction?* as Markdown, as one HTML file, and its picture."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

from verdicts import reproduction
from verdicts.files import write_together
from verdicts.lazy import pd
from verdicts.registry import printable
from verdicts.report import escaped, html_page, html_table, pipe_table
from verdicts.reproduction import GAP, LEVEL, Reproduction, comparable
from verdicts.row import ABSENT, alike
from verdicts.statistics.estimates import ALPHA
from verdicts.statistics.judgement import CANNOT_TELL, CONSISTENT, NOT_MET, Count
from verdicts.statistics.multiverse import share_interval

TITLE = "Is this a reproduction?"

RULE = (
    "Levels agree, or gaps do, if neither their count nor the farthest one is a surprise at 2.5 "
    "%: the count inside the intervals, of which each holds its number with 95 %, and the p value "
    "of the farthest (Cochran's Q, times their number). They can be told if at least half of the "
    "intervals exclude zero. Without gaps, the levels decide. Cells share seeds and data, so that "
    "a count is less certain than its interval says."
)

#: The rule, case by case: of levels, of gaps, and the answer.
CASES = (
    ("agree", "agree, and can be told", reproduction.REPRODUCED),
    ("do not agree", "agree, and can be told", reproduction.IN_GAPS),
    ("do not agree", "agree, and cannot be told", reproduction.NOT_REPRODUCED),
    ("agree, or not", "do not agree", reproduction.NOT_REPRODUCED),
    ("agree", "agree, and cannot be told", reproduction.NOT_TOLD),
)

READ = (
    "Interval: where the printed number lies with probability 95 %, if it is of runs like ours. "
    "Consistent: it does; not met: it does not; cannot be told: it does, and so does zero. z: ours "
    "− printed, in standard errors of this difference."
)

ASSUMED = (
    "Where no spread (± a standard error) is printed, a number counts as one run, or as the mean "
    "of the stated number of runs, with the spread of ours; the two of a gap are then paired by "
    "seed. With printed spreads, they are independent. A number may be off by half of its last "
    "digit. For the definitions but the first, our standard errors are widened to Student's "
    "intervals."
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
    told = [f"{answer.capitalize()}.", _counted("printed number", levels), _counted("gap", gaps)]
    yield "Answer", " ".join(filter(None, told)), pd.DataFrame()
    if by:
        yield "Part by part", "The same rule for each part.", pd.DataFrame(_parts(found, by))
    margin = f"The margin is {found.margin:g}." if found.margin else "No margin is given."
    yield "By which definition?", margin, pd.DataFrame(_definitions(found))
    paired = "From the same setting, and paired by seed."
    for kind, heading, text in ((LEVEL, "Printed numbers", READ), (GAP, "Gaps", paired)):
        if len(rows := found.of(kind)):
            yield heading, text, _listed(rows, found.keys)
    near = [part.settings().assign(**values) for values, part in found.parts(by)]
    if any(map(len, near)):
        text = "Distance: the root mean square of ours − printed, where there are several settings."
        table = pd.concat(near)
        yield "Other settings", text, table[[*by, *table.columns.drop([*by])]]
    yield "The rule", RULE, pd.DataFrame(CASES, columns=["levels", "gaps", "answer"])
    yield "What is assumed", ASSUMED, pd.DataFrame()


def as_markdown(content: Iterable[Section], title: str = TITLE, picture: str = "") -> str:
    """The page in Markdown; ``picture`` is the name of its file, or empty."""
    parts = [f"# {escaped(title)}", f"![Printed against ours]({picture})" if picture else ""]
    for heading, text, table in content:
        parts += [f"## {heading}", escaped(text), pipe_table(_as_text(table)) if len(table) else ""]
    return "\n\n".join(filter(None, parts)) + "\n"


def as_page(content: Iterable[Section], title: str = TITLE, picture: bytes = b"") -> str:
    """The page as one HTML file, with the picture inside. All text is escaped."""
    parts = [f"<h1>{escape(title)}</h1>"]
    for heading, text, table in content:
        parts += [f"<h2>{escape(heading)}</h2>", f"<p>{escape(text)}</p>"]
        parts += [html_table(_as_text(table), heading)] if len(table) else []
    if picture:
        data = base64.b64encode(picture).decode()
        look = 'alt="Printed against ours" style="max-width: 100%"'
        parts.insert(3, f'<img {look} src="data:image/png;base64,{data}">')
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
    texts = {
        "md": as_markdown(content, title, "reproduction.png" if drawn else ""),
        "html": as_page(content, title, drawn),
        "csv": found.rows.to_csv(index=False, lineterminator="\n"),
    }
    files = {name: printable(text, keep="\n").encode() for name, text in texts.items()}
    files |= {"png": drawn} if drawn else {}
    write_together(folder, {f"reproduction.{name}": files[name] for name in files}, inputs)


def _counted(what: str, count: Count) -> str:
    if not count.number:
        return ""
    shares = count.inside / count.number, *share_interval(count.inside, count.number, ALPHA)
    share, low, high = (f"{100 * share:.0f}" for share in shares)
    return (
        f"{count.inside} of {count.number} {what}s lie inside the prediction interval "
        f"({share} % [{low}, {high}]; 95 % are expected; so few by chance: p "
        f"{_p(count.so_few)}; the farthest: p {_p(count.farthest)}). In "
        f"{count.inside - count.consistent} of these intervals lies zero, too."
    )


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.2g}"


def _parts(found: Reproduction, by: Sequence[str]) -> Iterator[dict[str, str]]:
    for values, part in found.parts(by):
        answer, levels, gaps = part.answer()
        if levels.number or gaps.number:
            yield {
                **values,
                "levels inside": f"{levels.inside} of {levels.number}",
                "gaps inside": f"{gaps.inside} of {gaps.number}",
                "gaps consistent": f"{gaps.consistent} of {gaps.number}",
                "answer": answer,
            }


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
        yield {"definition": "order", "asks": asks, "source": ABSENT, "levels": told}


def _listed(rows: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """The rows as the page shows them."""
    told = rows[["note", "apart", "setting"]].to_numpy()
    spread = ("\u00a0±\u00a0" + rows["se"].map(_text)).where(rows["se"].notna(), "")
    printed = rows["printed"].map("{:g}".format).str.replace("-", "−") + spread
    ours = rows[["ours", "low", "high"]].astype(float).to_numpy()
    same = [alike(*row) for row in ours]
    table = rows.assign(
        printed=printed + "\u00a0" + rows["unit"],
        ours=[value for value, _, _ in same],
        interval=[f"{low}\u00a0to\u00a0{high}" if low != ABSENT else "" for _, low, high in same],
        z=rows["z"].round(2),
        note=["; ".join(filter(None, row)) for row in told],
    )
    shown = ("page", "printed", "ours", "seeds", "interval", "verdict", "z", "note")
    return table[[*keys, *shown]]


def _text(value: object) -> str:
    if isinstance(value, float):
        value = "" if math.isnan(value) else f"{value:.4g}".replace("-", "−")
    return str(value).strip() or ABSENT


def _as_text(table: pd.DataFrame) -> pd.DataFrame:
    """A table as strings, without columns that are empty."""
    texts = table.map(_text).rename(columns=lambda name: name if name == "z" else name.capitalize())
    return texts.loc[:, (texts != ABSENT).any()]


#: How far the picture goes, in half-widths of intervals.
EDGE = 5

#: The colour and the marker of each verdict in the picture.
DRAWN = {CONSISTENT: ("#12652a", "o"), NOT_MET: ("#a3201c", "X"), CANNOT_TELL: ("#7a7a7a", "s")}


def picture(found: Reproduction, by: Sequence[str] = ()) -> bytes:
    """How far printed numbers are from ours, a line for each part, as PNG: inside is grey.

    What is farther than ``EDGE`` stands at the edge. Empty if matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        return b""
    parts = [pair for pair in found.parts(by) if pair[1].rows["low"].notna().any()]
    names = [" · ".join(filter(None, values.values())) for values, _ in parts]
    figure = Figure((7, 1.6 + 0.3 * len(names)), dpi=150, layout="constrained")
    for axes, kind in zip(figure.subplots(1, 2, sharey=True), (LEVEL, GAP), strict=True):
        axes.axvspan(-1, 1, color="0.9", zorder=0)
        for place, (_, part) in enumerate(parts):
            for verdict, (colour, marker) in DRAWN.items():
                rows = part.of(kind).query("verdict == @verdict")
                far = (rows["printed"] - rows["ours"]) / (rows["high"] - rows["ours"])
                label = verdict if place == 0 else ""
                look = {"color": colour, "marker": marker, "alpha": 0.7, "label": label}
                axes.scatter(far.clip(-EDGE, EDGE), [place] * len(far), **look)
        axes.set_xlim(-EDGE - 0.5, EDGE + 0.5)
        axes.set_title(f"printed {kind}s")
        axes.set_xticks([-4, -2, 0, 2, 4])
    axes.set_yticks(range(len(names)), names, parse_math=False)
    axes.set_ylim(len(names) - 0.5, -0.5)
    figure.supxlabel("printed − ours, in half-widths of our prediction interval", fontsize="medium")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    stream = io.BytesIO()
    figure.savefig(stream, format="png")
    return stream.getvalue()

"""Tables as CSV (every digit), Markdown and LaTeX (as printed), the same bytes each time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from ngo.comparisons import MEASURES
from ngo.files import whole_file, write_text
from ngo.pages import page

ABSENT = "–"

VERDICTS = (
    "A claim holds or fails where the 95 % interval of the difference, paired by seed, excludes 0, "
    "and is undecided elsewhere, also where it is the same for all seeds, which leaves no "
    "interval; fewer than three seeds give no verdict, nor do numbers that the paper prints as "
    "equal."
)

_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "η": "eta",
    "θ": "theta", "λ": "lambda", "μ": "mu", "µ": "mu", "π": "pi", "ρ": "rho", "σ": "sigma",
    "τ": "tau", "φ": "phi", "Δ": "Delta",
}  # fmt: skip
_SYMBOLS = {
    "±": r"\pm", "−": "-", "×": r"\times", "·": r"\cdot", "≥": r"\ge", "≤": r"\le", "≠": r"\ne",
    "≈": r"\approx", "→": r"\to", "∞": r"\infty", "‖": r"\|", "√": r"\surd", "Σ": r"\sum",
    "x̄": r"\bar{x}", "λ_n": r"\lambda_n", "<": "<", ">": ">", "|": "|",
}  # fmt: skip
_LOW = dict(zip("₀₁₂₃₄₅₆₇₈₉ᵢⱼₙ", "0123456789ijn", strict=True))
_HIGH = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", [*"0123456789", "$-$"], strict=True))
_LATEX = {
    **{character: rf"\{character}" for character in "&%_#${}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"–": "--", "—": "---", "…": r"\ldots{}", "“": "``", "”": "''", "‘": "`", "’": "'"},
    **{"\u00a0": "~", "é": r"\'e", "ö": r"\"o", "ü": r"\"u"},
    **{character: rf"$\{name}$" for character, name in _GREEK.items()},
    **{symbol: f"${name}$" for symbol, name in _SYMBOLS.items()},
    **{character: rf"\textsubscript{{{digit}}}" for character, digit in _LOW.items()},
    **{character: rf"\textsuperscript{{{digit}}}" for character, digit in _HIGH.items()},
}
_SPECIAL = re.compile("|".join(map(re.escape, sorted(_LATEX, key=len, reverse=True))))


def save_table(table: pd.DataFrame, printed: pd.DataFrame, stem: str | Path, caption: str) -> None:
    """Write ``table`` as ``stem``.csv, and ``printed``, its strings, as .md, .tex and
    .html.
    """
    with whole_file(f"{stem}.csv") as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n")
    write_text(f"{stem}.md", as_markdown(printed, caption))
    write_text(f"{stem}.tex", as_latex(printed, caption))
    write_text(f"{stem}.html", page(caption, {"": printed}))


def as_markdown(printed: pd.DataFrame, caption: str) -> str:
    """The caption and a pipe table."""
    cells = printed.map(lambda text: text.replace("|", r"\|"))
    return f"{caption}\n\n{cells.to_markdown(index=False, disable_numparse=True)}\n"


def as_latex(printed: pd.DataFrame, caption: str) -> str:
    """A table no wider than the text, in ASCII; its document needs booktabs and adjustbox."""
    latex = (
        printed.rename(columns=_escaped)
        .map(_escaped)
        .to_latex(index=False, escape=False, caption=_escaped(caption), position="t")
    )
    begin, end = r"\begin{tabular}", r"\end{tabular}"
    latex = latex.replace(begin, rf"\begin{{adjustbox}}{{max width=\textwidth}}" f"\n{begin}")
    return latex.replace(end, f"{end}\n" r"\end{adjustbox}")


def protocols(table: pd.DataFrame) -> pd.DataFrame:
    """The printed form of :func:`ngo.comparisons.protocol_table`."""
    ours, theirs = _digits(table)
    return pd.DataFrame(
        {
            **_measured_by(table),
            **_cell(table),
            "Consensus": _with_interval(table, "consensus", ours),
            "Workers": _with_interval(table, "workers", ours),
            "Paper": _numbers(table["paper"], theirs),
            "Consensus − paper": _numbers(table["consensus_minus_paper"], ours, plus=True),
            "NGO − gossip": _with_interval(table, "ngo_minus_gossip", ours, plus=True),
            "Classes": [
                f"{low:g}" if low == high else f"{low:g} to {high:g}"
                for low, high in zip(table["classes_min"], table["classes_max"], strict=True)
            ],
            "Diverged": _diverged(table),
        }
    )


def claims(table: pd.DataFrame) -> pd.DataFrame:
    """The printed form of :func:`ngo.comparisons.claims_table`."""
    ours, theirs = _digits(table)
    return pd.DataFrame(
        {
            **_measured_by(table),
            "Data": table["dataset"],
            "Partition": table["partition"],
            "Claim": table["claim"],
            "Paper": _numbers(table["paper"], theirs, plus=True),
            "Measured": _with_interval(table, "measured", ours, "ci95", plus=True),
            "Seeds": table["seeds"].astype(str),
            "Verdict": table["verdict"],
        }
    )


def tuned(table: pd.DataFrame) -> pd.DataFrame:
    """The printed form of :func:`ngo.tuning.tuned_table`."""
    ours, theirs = _digits(table)
    prefix = "diverged_"
    gammas = [name.removeprefix(prefix) for name in table if name.startswith(prefix)]
    chosen = [
        ABSENT if pd.isna(gamma) else f"{gamma:g}" if pd.isna(edge) else f"{gamma:g} ({edge})"
        for gamma, edge in zip(table["gamma"], table["edge"], strict=True)
    ]
    grid = {}
    for gamma in gammas:
        accuracies = _with_interval(table, f"test_{gamma}", ours)
        grid[f"γ = {gamma}"] = [
            f"{diverged:g} of {seeds:g} diverged" if diverged > 0 else accuracy
            for accuracy, diverged, seeds in zip(
                accuracies, table[f"{prefix}{gamma}"], table["seeds"], strict=True
            )
        ]
    return pd.DataFrame(
        {
            **_cell(table),
            "Best γ": chosen,
            "Held out": _with_interval(table, "held_out", ours),
            "Test": _with_interval(table, "consensus", ours),
            "NGO − gossip": _with_interval(table, "ngo_minus_gossip", ours, plus=True),
            "NGO − gossip, paper": _numbers(table["paper_ngo_minus_gossip"], theirs, plus=True),
            **grid,
            "Diverged": _diverged(table),
        }
    )


def spectra(table: pd.DataFrame) -> pd.DataFrame:
    """The printed form of :func:`ngo.spectra.spectral_comparison`."""
    names = [
        topology if pd.isna(u) else f"{topology} (u = {u:g})"
        for topology, u in zip(table["topology"], table["u"], strict=True)
    ]
    return pd.DataFrame(
        {
            "Topology": names,
            "n": table["n"].astype(str),
            "Degree": table["degree"].map("{:.4g}".format),
            "Spectral gap": table["spectral_gap"].map("{:.4f}".format),
            "Paper": table["paper"].map("{:g}".format).where(table["paper"].notna(), ABSENT),
            "Difference": table["difference"].map(lambda d: number(d, 4, plus=True)),
            "As printed": table["agrees"].fillna(ABSENT),
        }
    )


def number(value: float, digits: int = 2, *, plus: bool = False) -> str:
    """A number with ``digits`` decimals and a true minus sign; nothing is a dash."""
    if pd.isna(value):
        return ABSENT
    rounded = round(value, digits) + 0.0  # −0.00 is 0.00
    return f"{rounded:{'+' if plus else ''}.{digits}f}".replace("-", "−")


def plus_minus(mean: float, half_width: float, digits: int = 2, *, plus: bool = False) -> str:
    """``62.30 ± 1.20``; without an interval (one seed), the mean alone."""
    shown = number(mean, digits, plus=plus)
    unsure = pd.isna(half_width) or pd.isna(mean)
    return shown if unsure else f"{shown} ± {half_width:.{digits}f}"


def _measured_by(table: pd.DataFrame) -> dict[str, pd.Series]:
    """The measure of each row, where there are several."""
    return {"Measure": table["measure"]} if table["measure"].nunique() > 1 else {}


def _cell(table: pd.DataFrame) -> dict[str, pd.Series]:
    return {
        "Data": table["dataset"],
        "Partition": table["partition"],
        "Topology": table["topology"].fillna(ABSENT),
        "Protocol": table["protocol"],
    }


def _digits(table: pd.DataFrame) -> tuple[list[int], list[int]]:
    """Decimals of each row: ours and the paper's."""
    digits = [MEASURES[name].digits for name in table["measure"]]
    return [ours for ours, _ in digits], [theirs for _, theirs in digits]


def _diverged(table: pd.DataFrame) -> pd.Series:
    return table["diverged"].astype(str) + " of " + table["seeds"].astype(str)


def _numbers(values: pd.Series, digits: Sequence[int], *, plus: bool = False) -> list[str]:
    return [number(value, d, plus=plus) for value, d in zip(values, digits, strict=True)]


def _with_interval(
    table: pd.DataFrame,
    column: str,
    digits: Sequence[int],
    interval: str | None = None,
    *,
    plus: bool = False,
) -> list[str]:
    rows = zip(table[column], table[interval or f"{column}_ci95"], digits, strict=True)
    return [plus_minus(mean, half_width, d, plus=plus) for mean, half_width, d in rows]


def _escaped(text: str) -> str:
    """``text`` for LaTeX; a ValueError for a character that is not ASCII and not known."""
    escaped = _SPECIAL.sub(lambda match: _LATEX[match[0]], text)
    if not escaped.isascii():
        unknown = "".join(sorted({c for c in escaped if not c.isascii()}))
        raise ValueError(f"{unknown!r} in {text!r} has no LaTeX form in ngo.tables")
    return escaped

"""Tables as CSV (every digit), Markdown and LaTeX (as printed), the same bytes each time."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ngo.datasets import DATASETS
from ngo.files import whole_file, write_text

ABSENT = "–"


def save_table(table: pd.DataFrame, printed: pd.DataFrame, stem: str | Path, caption: str) -> None:
    """Write ``table`` as ``stem``.csv, and ``printed``, its strings, as .md and .tex."""
    with whole_file(f"{stem}.csv") as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n")
    write_text(
        f"{stem}.md", f"{caption}\n\n{printed.to_markdown(index=False, disable_numparse=True)}\n"
    )
    write_text(f"{stem}.tex", as_latex(printed, caption))


def as_latex(printed: pd.DataFrame, caption: str) -> str:
    """A booktabs table; text is escaped, ± and − are set as mathematics."""
    latex = (
        printed.rename(columns=_escaped)
        .map(_escaped)
        .to_latex(index=False, escape=False, caption=_escaped(caption), position="t")
    )
    return latex


def made_by(tier: str, runs: pd.DataFrame) -> str:
    """What made a table: tier, data sets (and the paper's that they stand in for), seeds."""
    names = []
    for name in sorted(runs["dataset"].unique()):
        other = DATASETS[name].stands_in_for
        names.append(f"{name} (the paper's numbers are its {other}'s)" if other else name)
    seeds = runs["seed"].nunique()
    return f"Tier {tier}; data: {', '.join(names)}; {seeds} seed{'' if seeds == 1 else 's'}."


def classification(table: pd.DataFrame) -> pd.DataFrame:
    """The printed form of :func:`ngo.results.classification_table`."""
    return pd.DataFrame(
        {
            "Data": table["dataset"],
            "Partition": table["partition"],
            "Topology": table["topology"].fillna(ABSENT),
            "Protocol": table["protocol"],
            "Consensus": _with_interval(table, "consensus"),
            "Workers": _with_interval(table, "workers"),
            "Paper": table["paper"].map(number),
            "Consensus − paper": table["consensus_minus_paper"].map(signed),
            "NGO − gossip": _with_interval(table, "ngo_minus_gossip", plus=True),
            "Classes": [
                f"{low}" if low == high else f"{low} to {high}"
                for low, high in zip(table["classes_min"], table["classes_max"], strict=True)
            ],
            "Diverged": table["diverged"].astype(str) + " of " + table["seeds"].astype(str),
        }
    )


def claims(table: pd.DataFrame) -> pd.DataFrame:
    """The printed form of :func:`ngo.results.classification_claims`."""
    return pd.DataFrame(
        {
            "Data": table["dataset"],
            "Partition": table["partition"],
            "Claim": table["claim"],
            "Paper": table["paper"].map(signed),
            "Measured": _with_interval(table, "measured", "ci95", plus=True),
            "Seeds": table["seeds"].astype(str),
            "Verdict": table["verdict"],
        }
    )


def spectra(table: pd.DataFrame) -> pd.DataFrame:
    """The printed form of :func:`ngo.results.spectral_comparison`."""
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


def signed(value: float) -> str:
    """A number with its sign."""
    return number(value, plus=True)


def plus_minus(mean: float, half_width: float, *, plus: bool = False) -> str:
    """``62.30 ± 1.20``; without an interval (one seed), the mean alone."""
    shown = number(mean, plus=plus)
    return shown if pd.isna(half_width) or pd.isna(mean) else f"{shown} ± {half_width:.2f}"


def _with_interval(
    table: pd.DataFrame, column: str, interval: str | None = None, *, plus: bool = False
) -> list[str]:
    pairs = zip(table[column], table[interval or f"{column}_ci95"], strict=True)
    return [plus_minus(mean, half_width, plus=plus) for mean, half_width in pairs]


def _escaped(value: str) -> str:
    for character, escape in (
        ("&", r"\&"),
        ("%", r"\%"),
        ("_", r"\_"),
        ("#", r"\#"),
        ("±", r"$\pm$"),
        ("−", r"$-$"),
        ("γ", r"$\gamma$"),
        ("λ₂", r"$\lambda_2$"),
        ("λ\\_n", r"$\lambda_n$"),
        (">", r"$>$"),
        (ABSENT, "--"),
    ):
        value = value.replace(character, escape)
    return value

"""Made up: a page of results (five claims, a figure, a table), and a board of three papers."""

import math
from dataclasses import MISSING, fields
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from ngo import plots
from ngo.printing import page, save_table
from ngo.report.board import Board
from ngo.report.contents import Contents, Shown
from ngo.report.findings import findings
from verdicts.verdict_rows import Row

NAN = float("nan")

FINDINGS = """\
questions:
  - {asks: Is it better?, claims: {order: on MNIST, same: on digits, later: on CIFAR-10}}
  - asks: Is the theorem true?
    claims: {"15": by the printed T*, absent: twice that}
    figure: fig8
  - {asks: Is it elsewhere?, claims: {absent: here}}
topics:
  - {title: Accuracy, about: What is compared., claims: [order, same, absent]}
  - {title: Theorems, about: What is proved., claims: ["15", later]}
  - {title: Nothing, about: No claim., claims: [absent]}
"""

PAPER = {"name": "own", "title": "A paper <of> *ours*", "authors": "A. Author"}
PAPER |= {"address": "https://example.org/paper", "claim": "All is well."}


def row(claim: str, **values: object) -> Row:
    """A row of verdicts: an order that holds for 20 seeds, or what ``values`` say."""
    none = {
        field.name: NAN if field.type == "float" else ""
        for field in fields(Row)
        if field.default is MISSING
    }
    numbers = {"estimate": 4.125, "low": 2.25, "high": 6.0, "pairs": 20.0, "detectable": 2.5}
    texts = {"place": "Table 1", "says": f"statement of {claim}", "kind": "order"}
    texts |= {"unit": "points", "relation": "above", "shows": "fig8", "verdict": "holds"}
    said = {"expected": 0.0, "margin": 0.5, "family_size": 1, "infinite": 0.0}
    made = {**none, **numbers, **texts, **said, "claim": claim, **values}
    return Row(**{"plain_low": made["low"], "plain_high": made["high"], **made})


EMPTY = dict.fromkeys(("estimate", "low", "high", "pairs", "detectable"), NAN)

ROWS = [
    row("order"),
    row("same", verdict="equivalent", estimate=0.031, low=-0.09, high=0.152, shows="tableS1"),
    row("15", verdict="fails", says="V is 0 after T* | <printed>", **EMPTY, unit="", relation="",
        met=204, cases=400, reason="met in 204 of 400 cases; not in ring", shows="tableS1"),
    row("later", verdict="not run", **EMPTY, reason="no rows with dataset = 'cifar10'", shows=""),
    row("open", verdict="undecided", estimate=-0.4, low=-1.4, high=0.6, seeds_needed=44.0,
        unit="log ratio", reason="the difference from 0 is not significant"),
]  # fmt: skip


def contents(folder: Path) -> Contents:
    """The contents; their files are written to ``folder``."""
    figure: Figure = plots.new_figure(2)
    figure.subplots().set_xlabel("steps")
    plots.below(figure, r"Bands: $\gamma$ = 0.1.", "Tier made-up.")
    plots.save_figure(figure, folder / "fig8", pd.DataFrame({"x": [1]}))
    for name in ("tableS1", "claims"):
        printed = pd.DataFrame({"Topology": ["ring <4>"], "Gap": ["0.67"]})
        save_table(printed, printed, folder / name, f"The caption of {name}.")
    (folder / "findings.yaml").write_text(FINDINGS)
    (folder / "assumptions.html").write_text(page("All of them.", {"defaults": [{"Where": "lr"}]}))
    (folder / "assumptions.md").write_text("All of them.\n\n## defaults\n")
    return Contents(
        tier="made-up",
        paper=PAPER,
        rows=ROWS,
        findings=findings(ROWS, folder / "findings.yaml"),
        shown=[
            Shown("fig8", "Figure 8: V", "5.6 Stability", "*See* <V>.", (folder / "fig8.png",), ()),
            Shown("tableS1", "Table S1: gaps", "Supplement", "Gaps.", (), (folder / "tableS1",)),
            Shown("claims", "The ledger", "Claims", "All.", (), (folder / "claims",)),
        ],
        ledger="claims",
        assumptions=folder / "assumptions",
        provenance={"Runs": "12", "Source revision": "abc|def"},
    )  # fmt: skip


OF_PAPERS = ("tier", "title", "authors", "address", "claim", "page", "archive", "sha256", "runs",
             "older")  # fmt: skip
OF_CLAIMS = ("tier", "claim", "statement", "place", "verdict", "remark", "effect", "interval",
             "seeds", "scale", "runs")  # fmt: skip


def lines_of(columns, *lines):
    """Lines of a table as mappings."""
    return tuple(dict(zip(columns, line, strict=True)) for line in lines)


PAPERS = lines_of(
    OF_PAPERS,
    ("first", "First | paper", "A. Author", "https://example.org/1", "All is well.",
               "papers/first.md", "results/archive/first-metrics.tar", "ab" * 32, 60, False),
    ("second", "Second", "B. Author", "", "It is not.",
               "papers/second.md", "results/archive/second-metrics.tar", "cd" * 32, 1200, True),
    ("third", "Third", "C. Author", "", "Nothing is known.", "", "", "", 0, False),
)  # fmt: skip

CLAIMS = lines_of(
    OF_CLAIMS,
    ("first", "a", "It is better", "Figure 1", "holds", "", "4.12 points",
               "2.25 to 6", "10", "digits; 5 workers; 90 steps", 40),
    ("first", "ours-ngo", "NGO is better", "ours", "fails", "", "−1 points",
               "−2 to −0.5", "10", "digits; 5 workers; 90 steps", 20),
    ("second", "b", "It is as good", "Theorem 2", "not run", "", "–", "–", "–", "", 0),
)  # fmt: skip


def cell(setting: str, method: str, estimate: float = NAN, **given: object) -> dict:
    """A method in a setting of 16 workers."""
    conditions = {"setting": setting, "workers": 16, "skew": NAN, "bandwidth": NAN}
    conditions |= dict.fromkeys(("stragglers", "lateness", "failing", "liars"), 0)
    measured = {"method": method, "measure": "accuracy", "estimate": estimate}
    measured |= {"low": estimate - 1, "high": estimate + 1, "seeds": 10}
    marks = dict.fromkeys(("best", "within", "beats_dsgd"), False)
    return {**conditions, **measured, **marks, "chosen": "", **given}


CELLS = (
    cell("iid", "DSGD", 90, best=True, within=True),
    cell("iid", "D²", 89.5, within=True),
    cell("iid", "NGO"),
    cell("skewed", "DSGD", 70, skew=0.1),
    cell("skewed", "D²", 80, best=True, within=True, beats_dsgd=True, chosen="η = 0.1", skew=0.1),
    cell("skewed", "NGO", 79, within=True, beats_dsgd=True, skew=0.1),
    cell("slow", "DSGD", 60, stragglers=0.0625, best=True, within=True),
    cell("slow", "D²", -math.inf, stragglers=0.0625),
    cell("slow", "NGO", 59, stragglers=0.0625, within=True),
    cell("many", "DSGD", 50, workers=64, best=True, within=True),
    cell("many", "D²", 49, workers=64),
    cell("many", "NGO", workers=64),
    cell("liars", "DSGD", liars=1),
)

BOARD = Board(PAPERS, CLAIMS, CELLS)


def read_board(folder):
    """The board of the CSV files in a folder."""
    texts = {"converters": {"older": bool} | dict.fromkeys(("best", "within", "beats_dsgd"), bool)}
    papers, claims = (
        pd.read_csv(folder / f"{name}.csv", na_filter=False, **texts).to_dict("records")
        for name in ("papers", "claims")
    )
    cells = pd.read_csv(folder / "matrix.csv", **texts).fillna({"chosen": ""})
    return Board(papers, claims, cells.to_dict("records"))

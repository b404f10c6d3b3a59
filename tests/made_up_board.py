"""A made-up board: two papers with archives, one without, and methods in three settings."""

import math

import pandas as pd

from ngo.report.board import Board

OF_PAPERS = ("tier", "title", "authors", "address", "claim", "page", "archive", "sha256", "runs",
             "older")  # fmt: skip
OF_CLAIMS = ("tier", "claim", "statement", "place", "verdict", "remark", "effect", "interval",
             "seeds", "scale", "runs")  # fmt: skip


def rows(columns, *lines):
    """Lines of a table as mappings."""
    return tuple(dict(zip(columns, line, strict=True)) for line in lines)


PAPERS = rows(
    OF_PAPERS,
    ("first", "First | paper", "A. Author", "https://example.org/1", "All is well.",
               "papers/first.md", "results/archive/first-metrics.tar", "ab" * 32, 60, False),
    ("second", "Second", "B. Author", "", "It is not.",
               "papers/second.md", "results/archive/second-metrics.tar", "cd" * 32, 1200, True),
    ("third", "Third", "C. Author", "", "Nothing is known.", "", "", "", 0, False),
)  # fmt: skip

CLAIMS = rows(
    OF_CLAIMS,
    ("first", "a", "It is better", "Figure 1", "holds", "", "4.12 points",
               "2.25 to 6", "10", "digits; 5 workers; 90 steps", 40),
    ("first", "ours-ngo", "NGO is better", "ours", "fails", "", "−1 points",
               "−2 to −0.5", "10", "digits; 5 workers; 90 steps", 20),
    ("second", "b", "It is as good", "Theorem 2", "not run", "", "–", "–", "–", "", 0),
)  # fmt: skip

NAN = math.nan


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

"""A made-up board: two papers with archives, one without, and methods in three settings."""

import csv
import math
from dataclasses import fields

from ngo.report.board import FILES, Board, BoardCell, BoardClaim, BoardPaper

PAPERS = (
    BoardPaper("first", "First | paper", "A. Author", "https://example.org/1", "All is well.",
               "papers/first.md", "results/archive/first-metrics.tar", "ab" * 32, 60, False),
    BoardPaper("second", "Second", "B. Author", "", "It is not.",
               "papers/second.md", "results/archive/second-metrics.tar", "cd" * 32, 1200, True),
    BoardPaper("third", "Third", "C. Author", "", "Nothing is known.", "", "", "", 0, False),
)  # fmt: skip

CLAIMS = (
    BoardClaim("first", "a", "It is better", "Figure 1", "holds", "", "4.12 points",
               "2.25 to 6", "10", "digits; 5 workers; 90 steps", 40),
    BoardClaim("first", "ours-ngo", "NGO is better", "ours", "fails", "", "−1 points",
               "−2 to −0.5", "10", "digits; 5 workers; 90 steps", 20),
    BoardClaim("second", "b", "It is as good", "Theorem 2", "not run", "", "–", "–", "–", "", 0),
)  # fmt: skip

NAN = math.nan


def cell(setting: str, method: str, estimate: float = NAN, **given: object) -> BoardCell:
    """A method in a setting of 16 workers."""
    low, high = estimate - 1, estimate + 1
    conditions = dict.fromkeys(("bandwidth", "skew"), "")
    conditions |= dict.fromkeys(("stragglers", "lateness", "failing", "liars"), "0")
    facts = {"workers": "16", "measure": "accuracy", "seeds": "10", "chosen": ""}
    marks = dict.fromkeys(("best", "within", "beats_dsgd"), False)
    return BoardCell(
        **{**conditions, **facts, **marks, "setting": setting, "method": method}
        | {"estimate": estimate, "low": low, "high": high}
        | given
    )


CELLS = (
    cell("iid", "DSGD", 90, best=True, within=True),
    cell("iid", "D²", 89.5, within=True),
    cell("iid", "NGO"),
    cell("skewed", "DSGD", 70, skew="0.1"),
    cell("skewed", "D²", 80, best=True, within=True, beats_dsgd=True, chosen="η = 0.1", skew="0.1"),
    cell("skewed", "NGO", 79, within=True, beats_dsgd=True, skew="0.1"),
    cell("slow", "DSGD", 60, stragglers="0.0625", best=True, within=True),
    cell("slow", "D²", -math.inf, stragglers="0.0625"),
    cell("slow", "NGO", 59, stragglers="0.0625", within=True),
    cell("many", "DSGD", 50, workers="64", best=True, within=True),
    cell("many", "D²", 49, workers="64"),
    cell("many", "NGO", workers="64"),
    cell("liars", "DSGD", liars="1"),
)

BOARD = Board(PAPERS, CLAIMS, CELLS)


def read_board(folder):
    """The board of the CSV files in a folder."""
    return Board(*(_read(kind, folder / name) for kind, name in FILES.items()))


def _read(kind, path):
    parse = {"bool": bool, "float": lambda text: float(text or NAN), "int": int, "str": str}
    kinds = {each.name: parse[str(each.type)] for each in fields(kind)}
    rows = csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    return tuple(kind(**{name: kinds[name](row[name]) for name in kinds}) for row in rows)

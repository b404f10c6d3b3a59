"""A made-up board: two papers with archives, one without, and their claims."""

import csv
from dataclasses import fields

from ngo.report.board import FILES, Board, BoardClaim, BoardPaper

PAPERS = (
    BoardPaper("first", "First | paper", "A. Author", "https://example.org/1", "All is well.",
               "first", "results/archive/first-metrics.tar", "ab" * 32, 60, False),
    BoardPaper("second", "Second", "B. Author", "", "It is not.",
               "second", "results/archive/second-metrics.tar", "cd" * 32, 1200, True),
    BoardPaper("third", "Third", "C. Author", "", "Nothing is known.", "", "", "", 0, False),
)  # fmt: skip

CLAIMS = (
    BoardClaim("first", "a", "It is better", "Figure 1", "holds", "", "4.12 points",
               "2.25 to 6", "10", "digits; 5 workers; 90 steps", 40),
    BoardClaim("first", "ours-ngo", "NGO is better", "ours", "fails", "", "−1 points",
               "−2 to −0.5", "10", "digits; 5 workers; 90 steps", 20),
    BoardClaim("second", "b", "It is as good", "Theorem 2", "not run", "", "–", "–", "–", "", 0),
)  # fmt: skip

BOARD = Board(PAPERS, CLAIMS)


def read_board(folder):
    """The board of the CSV files in a folder."""
    return Board(*(_read(kind, folder / name) for kind, name in FILES.items()))


def _read(kind, path):
    parse = {"bool": bool, "int": int, "str": str}
    kinds = {each.name: parse[str(each.type)] for each in fields(kind)}
    rows = csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    return tuple(kind(**{name: kinds[name](row[name]) for name in kinds}) for row in rows)

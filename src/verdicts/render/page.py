"""Verdicts as one HTML page that needs no other file."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import pandas as pd

from verdicts.counts import counted, counts, registered
from verdicts.render.board import EXPLAINED, print_board
from verdicts.row import Row

STYLE = """
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 80rem; padding: 0 1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid color-mix(in srgb, currentColor 25%, transparent);
  padding: .35rem .6rem; text-align: left; vertical-align: top; }
th { white-space: nowrap; }
.verdict { font-weight: 600; min-width: 7rem; }
.holds, .robust { color: light-dark(#12652a, #6fd08c); }
.fails, .reversed { color: light-dark(#a3201c, #ff8f88); }
.equivalent, .no-effect { color: light-dark(#0b5394, #82b8f0); }
.depends { color: light-dark(#7a4b00, #e3b25c); }
.undecided, .not-run { color: light-dark(#5b5b5b, #b5b5b5); }
"""


def as_page(rows: Sequence[Row], title: str = "Verdicts") -> str:
    """A page with the counts, a table of the claims, and one of their cells if there are any.

    All text is escaped: nothing in a claims file becomes markup.
    """
    cells = print_board(rows, cells=True)
    told = filter(None, [counted(counts(rows)), registered(rows)])
    parts = [f"<h1>{escape(title)}</h1>", *(f"<p>{escape(text)}</p>" for text in told)]
    parts += [_table(print_board(rows), "Claims"), f"<p>{escape(EXPLAINED)}</p>"]
    if len(cells):
        parts += ["<h2>Parts of claims</h2>", _table(cells, "Parts of claims")]
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"{body}\n</main>\n</body>\n</html>\n"
    )


def _table(printed: pd.DataFrame, name: str) -> str:
    heads = "".join(f'<th scope="col">{escape(column)}</th>' for column in printed.columns)
    lines = "\n".join(
        "<tr>" + "".join(_cell(column, row[column]) for column in printed.columns) + "</tr>"
        for row in printed.to_dict("records")
    )
    return (
        f'<div class="scroll" tabindex="0"><table aria-label="{escape(name)}">\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{lines}\n</tbody>\n</table></div>"
    )


def _cell(column: str, text: str) -> str:
    if column != "Verdict":
        return f"<td>{escape(text)}</td>"
    verdict = text.partition(",")[0].replace(" ", "-")
    return f'<td class="verdict {escape(verdict)}">{escape(text)}</td>'

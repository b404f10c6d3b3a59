"""A first claims file for a table, from its columns: to be judged as it stands, and changed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import yaml

from verdicts.lazy import pd
from verdicts.registry import UserError
from verdicts.rows.evaluations import last_evaluations, worst_of
from verdicts.rows.selection import SETTING, UNIVERSE
from verdicts.rows.tables import read_table

#: Columns that are no setting and no result.
RESERVED = {"run", "seed", "step", "diverged", "started", UNIVERSE}

#: Names of columns that say which side a run is on, and the most values of a setting.
METHODS, MOST_VALUES = ("method", "algorithm", "algo", "model", "optimizer", "agent", "name"), 50

DRAFT = """\
# One claim to start from. The columns of {file}: {columns}.
# `verdicts quantities` lists what claims can be about. To judge it: {command}
# Both sides are the best of these results, so that a test of this claim takes new seeds.
claims:
  first-claim:
    says: {says}
    from: {table} # the table: {file}
    quantity: difference # {each}: the value of one side − that of the other
    with: {{of: {of}, minus: {minus}, value: {value}{over}}}
    {relation}: 0 # {best} values of {value} are taken for the best
    margin: {margin:g} # a smaller difference does not matter. Yours to state, before you look
"""


def draft(path: Path, out: Path) -> str:
    """The content of a claims file ``out`` on the table at ``path``: its two best methods differ.

    The method is a column of text with few values, of a known name if there is one; the value is
    the first number whose name says which end is best, or else the last. Raises a UserError if the
    table has none of them.
    """
    rows = last_evaluations(read_table(path))
    columns = [
        name for name in map(str, rows) if name not in RESERVED and not name.startswith(SETTING)
    ]
    numbers = [name for name in columns if _is_number(rows[name])]
    settings = [name for name in columns if 2 <= rows[name].nunique() <= MOST_VALUES]
    texts = sorted((name for name in settings if name not in numbers), key=_rank)
    known = [name for name in numbers if worst_of(name) is not None]
    if not texts or not numbers:
        what = "text with two values or more, such as method" if numbers else "numbers"
        raise UserError(
            f"table: {str(path)!r} has no column of {what}; a claim compares two sides."
        )
    method, value = texts[0], (known or numbers[-1:])[0]
    lowest = worst_of(value) == float("inf")
    means = rows.groupby(method)[value].mean().sort_values(ascending=lowest)
    if len(means) < 2:
        raise UserError(
            f"table: the column {method!r} of {str(path)!r} has one value with results."
        )
    first, second = means.index[:2]
    pair = rows[rows[method].isin([first, second])]
    over = [name for name in texts[1:] if pair[name].nunique() > 1] if "seed" in rows else []
    others = [name for name in settings if name in numbers and name != value]
    while others and "seed" in rows and pair.duplicated(["seed", method, *over]).any():
        over.append(others.pop(0))  # what tells runs of a seed apart
    margin = float(f"{abs(means.iloc[0]) / 100:.0e}")
    return DRAFT.format(
        file=_line(path.name),
        columns=_line(", ".join(columns)),
        command=_line(f"verdicts check {out} --tables {path.parent}"),
        says=_plain(f"{first} has a {'lower' if lowest else 'higher'} {value} than {second}"),
        table=_plain(path.stem),
        each="for each seed" if "seed" in rows else "there is no column seed, so of all runs",
        of=f"{{{_plain(method)}: {_plain(first)}}}",
        minus=f"{{{_plain(method)}: {_plain(second)}}}",
        value=_plain(value),
        over=f", over: [{', '.join(map(_plain, over))}]" if over else "",
        relation="below" if lowest else "above",
        best="low" if lowest else "high",
        margin=margin if margin > 0 else 1,
    )


def _rank(name: str) -> int:
    """The place of a column among those that may have the methods."""
    return METHODS.index(name.lower()) if name.lower() in METHODS else len(METHODS)


def _is_number(values: pd.Series) -> bool:
    return values.dtype.kind in "iuf" and bool(values.notna().any())


def _line(text: str) -> str:
    return " ".join(text.split())


def _plain(value: object) -> str:
    """A value in YAML's flow style, quoted where it must be."""
    text = str(value)
    if isinstance(value, str) and not (
        re.fullmatch(r"[^\W\d][\w ]*", text) and yaml.safe_load(text) == text
    ):
        return json.dumps(text, ensure_ascii=False)
    return str(bool(value)).lower() if str(value) in ("True", "False") else text

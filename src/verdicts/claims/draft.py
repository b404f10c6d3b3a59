"""A first claims file for a table, from its columns: to be judged as it stands, and changed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from string import Template

import yaml

from verdicts.registry import UserError
from verdicts.run_values import last_evaluations, worst_of
from verdicts.table import RESERVED, meant_as_seed, read_table

#: The file, with names for what a table tells.
FIRST = Path(__file__).parents[1] / "first_claims.yaml"

#: Names of columns that say which side a run is on, and the most values of a setting.
METHODS, MOST_VALUES = ("method", "algorithm", "algo", "model", "optimizer", "agent", "name"), 50


def draft(path: Path, out: Path) -> tuple[str, str]:
    """The content of a claims file ``out`` on the table at ``path``: its two best methods differ;
    and what to change in it if a low value is better, where its name does not say so.

    The method is a column of text with few values, of a known name if there is one; the value is
    the first number whose name says which end is best, or else the last. Raises a UserError if the
    table has none of them.
    """
    rows = last_evaluations(read_table(path))
    no_side = (*RESERVED, "started", meant_as_seed(rows))  # no setting and no result
    columns = [c for c in map(str, rows) if c not in no_side and not c.startswith("universe")]
    numbers = [name for name in columns if rows[name].dtype.kind in "iuf" and rows[name].any()]
    settings = [name for name in columns if 2 <= rows[name].nunique() <= MOST_VALUES]
    texts = [name for name in settings if name not in numbers]
    texts.sort(key=lambda name: name.lower() not in METHODS)
    if not texts or not numbers:
        what = "text with two values or more, such as method" if numbers else "numbers"
        raise UserError(f"table: {str(path)!r} has no column of {what}; a claim has two sides.")
    method, value = texts[0], next((n for n in numbers if worst_of(n) is not None), numbers[-1])
    lowest = worst_of(value) == float("inf")
    means = rows.groupby(method)[value].mean().sort_values(ascending=lowest)
    pair = rows[rows[method].isin(means.index[:2])]
    over, others = [], [name for name in settings if name in numbers and name != value]
    if "seed" in rows:
        over = [name for name in texts[1:] if pair[name].nunique() > 1]
        while others and pair.duplicated(["seed", method, *over]).any():
            over.append(others.pop(0))  # what tells runs of a seed apart
    end = "lower" if lowest else "higher"
    file, listed = (" ".join(text.split()) for text in (path.name, ", ".join(columns)))
    margin = float(f"{abs(means.iloc[0]) / 100:.0e}") or 1
    command = f"verdicts check {out} --tables {path.parent}".replace("\n", " ")
    more = f", over: [{', '.join(map(_plain, over))}]" if over else ""
    sides = zip(("method", "of", "minus", "value"), (method, *means.index[:2], value), strict=True)
    says = _plain(f"{means.index[0]} has a {end} {value} than {means.index[1]}")
    told = {"file": file, "columns": listed, "command": command, "says": says, "over": more}
    told |= {"table": _plain(path.stem), "end": end, "margin": f"{margin:g}"}
    told |= {"relation": "below" if lowest else "above", **{k: _plain(v) for k, v in sides}}
    content = Template(FIRST.read_text(encoding="utf-8")).substitute(told)
    if worst_of(value) is not None:
        return content, ""
    unknown = f"whether a high or a low {value!r} is better is not known; if a low one is, line 9"
    return content, f"{out}: {unknown} takes the two lowest, and line 10 is 'below: 0'\n"


def _plain(value: object) -> str:
    """A value in YAML's flow style, quoted where it must be."""
    if not isinstance(value, str):
        return str(value).lower()
    plain = re.fullmatch(r"[^\W\d][\w ]*", value) and yaml.safe_load(value) == value
    return value if plain else json.dumps(value, ensure_ascii=False)

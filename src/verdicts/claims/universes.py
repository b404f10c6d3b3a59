"""The universes of a claim: the effect of each, its settings, and whether it counts."""

from __future__ import annotations

import numpy as np
import pandas as pd

from verdicts.claims.claim import Claim
from verdicts.claims.gates import check_gate
from verdicts.quantity_registry import QUANTITIES
from verdicts.registry import UserError, nearest
from verdicts.rows.seed_values import total
from verdicts.rows.selection import Selection, Tables, joined, selected
from verdicts.statistics.effects import sides
from verdicts.statistics.expectation import Expectation

UNIVERSE, SETTING = "universe", "universe_"
"""The column with the universe of a row, and how the columns of its settings start."""


def universes_of(claim: Claim, where: Selection, tables: Tables) -> pd.DataFrame:
    """A row for each universe: ``universe``, ``universe_NAME``, ``seeds``, ``effect`` and ``why``.

    The universes are those of the claim's rows that also meet ``where``. The effect of a universe
    is the mean of the claim's quantity over its seeds; infinities of both signs add up to 0.
    ``why`` says why a universe does not count; it is empty for one that does. The gate of universes
    is asked of all rows of a universe. Settings are those that the claim names, or all that differ
    between universes. Raises a UserError if a column is absent, and for a universe with two values
    of a setting.
    """
    assert claim.universes is not None
    everything = joined(tables, claim.tables)
    rows = selected(everything, {**claim.where, **where})
    if UNIVERSE not in rows:
        raise UserError(f"there is no column {UNIVERSE!r}.{nearest(UNIVERSE, rows)}")
    named = claim.universes.settings
    known = [str(name) for name in rows if str(name).startswith(SETTING)]
    wanted = known if named is None else [f"{SETTING}{name}" for name in named]
    for name in wanted:
        if name not in rows:
            raise UserError(f"there is no column {name!r}.{nearest(name, rows)}")
    of_all = {universe: group for universe, group in everything.groupby(UNIVERSE)}
    records = []
    for universe, own in rows.groupby(UNIVERSE):
        if two := [name for name in wanted if own[name].nunique() > 1]:
            raise UserError(f"universe {universe} has more than one value of {two[0]!r}")
        numbers, why = _numbers(claim, own, of_all[universe], tables)
        records.append(
            {
                UNIVERSE: universe,
                **{name: own[name].iloc[0] for name in wanted},
                "seeds": len(numbers),
                "effect": float(total(numbers) / len(numbers)) if len(numbers) else np.nan,
                "why": why,
            }
        )
    found = pd.DataFrame(records)
    for name in wanted:
        found[name] = _setting(name, found[name])
    return found.drop(columns=[n for n in wanted if named is None and found[n].nunique() < 2])


def settings_in(universes: pd.DataFrame) -> pd.DataFrame:
    """The settings in a table of universes, under their names."""
    own = universes.loc[:, universes.columns.str.startswith(SETTING)]
    return own.rename(columns=lambda name: name.removeprefix(SETTING))


def specification_curve(claim: Claim, tables: Tables) -> pd.DataFrame:
    """The universes that count, sorted by their effects, with a column ``side``.

    ``side``: 1 if the claim holds beyond the margin, −1 if its opposite does, 0 if the effect is
    within the margin. Raises a UserError like ``universes_of``.
    """
    found = universes_of(claim, {}, tables)
    assert isinstance(claim.expectation, Expectation)  # claims over universes have one
    counting = found[found["why"] == ""].drop(columns="why")
    curve = counting.sort_values(["effect", UNIVERSE], ignore_index=True)
    return curve.assign(side=sides(curve["effect"], claim.expectation))


def _numbers(
    claim: Claim, rows: pd.DataFrame, everything: pd.DataFrame, tables: Tables
) -> tuple[np.ndarray, str]:
    """The number of each seed in a universe, and why it does not count."""
    assert claim.universes is not None
    quantity = QUANTITIES[claim.quantity]
    try:
        if claim.universes.gate is not None:
            check_gate(claim.universes.gate, everything, tables)
        result = quantity.function(rows, **claim.arguments)
    except UserError as error:
        return np.empty(0), str(error)
    found = quantity.per_seed(f"claims.{claim.id}.quantity", result)
    numbers = found.dropna().to_numpy(dtype=float)
    return numbers, "" if len(numbers) else "no seed has a number"


def _setting(name: str, values: pd.Series) -> pd.Series:
    """Numbers as they are, all else as text; a UserError for numbers with gaps."""
    if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
        if values.isna().any():
            raise UserError(f"{name!r} has no value in {values.isna().sum()} universes")
        return values
    return values.map(lambda each: "none" if pd.isna(each) else str(each))

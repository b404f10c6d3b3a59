"""The universes of a claim: the effect of each, its settings, and whether it counts.

Where the quantity allows it, the numbers of many universes are computed at once, for speed: of
universes with the same values in the columns ``over``. A universe without a number is then asked
alone, to know why.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from verdicts.claims.claim import Claim, ClaimsFile
from verdicts.claims.claims_file import checked_tables, read_claims
from verdicts.claims.conditions import check_gate, passing
from verdicts.lazy import pd
from verdicts.quantities import QUANTITIES
from verdicts.registry import UserError, one_of
from verdicts.scores import total
from verdicts.statistics.evidence import Expectation
from verdicts.statistics.multiverse import sides
from verdicts.statistics.setting_rules import is_number
from verdicts.table import SETTING, UNIVERSE, Selection, Tables, complete, joined, need, selected

BOTH_DIVERGED = "both sides diverged"
#: Why a universe does not count: the runs of both sides diverged, or some are missing.
NO_NUMBER = "no seed has a number"


def universes_of(claim: Claim, where: Selection, tables: Tables) -> pd.DataFrame:
    """A row for each universe: ``universe``, ``universe_NAME``, ``seeds``, ``effect`` and ``why``.

    The universes are those of the claim's rows that also meet ``where``. The effect of a universe
    is the mean of the claim's quantity over its seeds. ``why`` says why a universe does not count;
    it is empty for one that does. The gate of universes is asked of all rows of a universe; where
    none passes it, it is not asked (see ``none_counts``).
    Settings are those that the claim names, or all that differ between universes. Raises a
    UserError if a column is absent, for rows of no universe, and for a universe with two values of
    a setting.
    """
    rows, why = _rows(claim, where, tables)
    named = claim.universes.columns if claim.universes else []
    wanted = named or [str(name) for name in rows if str(name).startswith(SETTING)]
    for name in wanted:
        need(rows, [name])
        if (two := rows.groupby(UNIVERSE)[name].nunique() > 1).any():
            raise UserError(f"universe {two.idxmax()} has more than one value of {name!r}")
    universes = rows.drop_duplicates(UNIVERSE).set_index(UNIVERSE)[wanted].sort_index()
    universes["seeds"], universes["effect"] = 0, np.nan
    universes["why"] = why if why.eq("").any() else ""
    numbers = _numbers(claim, rows[rows[UNIVERSE].map(universes["why"]) == ""])
    for universe, effects in numbers.groupby(UNIVERSE):
        universes.loc[universe, ["seeds", "effect", "why"]] = _effect(effects)
    universes = universes.reset_index()
    for name in wanted:
        universes[name] = _setting(name, universes[name])
    same = [name for name in wanted if not named and universes[name].nunique() < 2]
    return universes.drop(columns=same)


def none_counts(claim: Claim, where: Selection, tables: Tables) -> str:
    """Why no universe of the claim's rows passes the gate of universes; empty if one does.

    A UserError like that of ``universes_of``.
    """
    _, why = _rows(claim, where, tables)
    return "" if why.eq("").any() else str(why.iloc[0])


def _rows(claim: Claim, where: Selection, tables: Tables) -> tuple[pd.DataFrame, pd.Series]:
    """The claim's rows, and why each universe does not pass the gate; empty if it does."""
    everything = joined(tables, claim.tables)
    rows = selected(everything, {**claim.where, **where})
    need(rows, [UNIVERSE])
    complete(rows, [UNIVERSE])
    why = dict.fromkeys(rows[UNIVERSE].unique(), "")
    if claim.universes and (gate := claim.universes.gate):
        failing = why.keys() - passing(gate, everything)
        for universe, part in everything[everything[UNIVERSE].isin(failing)].groupby(UNIVERSE):
            try:
                check_gate(gate, part, tables)
            except UserError as error:
                why[universe] = str(error)
    return rows, pd.Series(why, dtype=object)


def _effect(numbers: pd.DataFrame) -> tuple[int, float, str]:
    """The seeds of a universe that have a number, their mean, and why it does not count."""
    values = numbers["number"].dropna().to_numpy()
    effect = float(total(values)) / max(1, len(values))
    if np.isnan(effect) or (numbers["why"] == BOTH_DIVERGED).any():
        return len(values), np.nan, BOTH_DIVERGED
    if not len(values):
        return 0, np.nan, next(filter(None, numbers["why"]), NO_NUMBER)
    return len(values), effect, ""


def _numbers(claim: Claim, rows: pd.DataFrame) -> pd.DataFrame:
    """A row for each universe and seed: ``universe``, ``number``, and ``why`` there is none."""
    over = claim.arguments.get("over", [])
    if not QUANTITIES[claim.quantity].many_universes:
        alike = rows[UNIVERSE]
    elif isinstance(over, list) and over and set(over) <= set(rows):
        values = rows.groupby(over, dropna=False).ngroup()
        alike = rows[UNIVERSE].map(values.groupby(rows[UNIVERSE]).agg(frozenset))
    else:
        alike = pd.Series(0, index=rows.index)
    parts = [_asked(claim, part) for _, part in rows.groupby(alike, sort=False)]
    return pd.concat(parts) if parts else pd.DataFrame({UNIVERSE: []})


def _asked(claim: Claim, rows: pd.DataFrame) -> pd.DataFrame:
    """The numbers of some universes. One that lacks a number is asked alone."""
    try:
        numbers = _at_once(claim, rows)
    except UserError as error:
        numbers = rows[[UNIVERSE]].drop_duplicates().assign(number=np.nan, why=str(error))
    lacking = numbers.loc[numbers["number"].isna() & (numbers["why"] != BOTH_DIVERGED), UNIVERSE]
    if lacking.empty or rows[UNIVERSE].nunique() < 2:
        return numbers
    again = rows[rows[UNIVERSE].isin(lacking)].groupby(UNIVERSE)
    alone = (_asked(claim, part) for _, part in again)
    return pd.concat([numbers[~numbers[UNIVERSE].isin(lacking)], *alone])


def _at_once(claim: Claim, rows: pd.DataFrame) -> pd.DataFrame:
    """The numbers of some universes, whose seeds and runs are renamed: no two share one."""
    quantity = QUANTITIES[claim.quantity]
    named = [name for name in ("seed", "run") if name in rows]
    renamed = rows.assign(**{name: rows.groupby([UNIVERSE, name]).ngroup() for name in named})
    result = quantity.function(renamed, **claim.arguments)
    scores = quantity.scores(f"claims.{claim.id}.quantity", result)
    universe = renamed.drop_duplicates("seed").set_index("seed")[UNIVERSE].sort_index()
    number = scores.numbers.reindex(universe.index)
    why = np.where(universe.index.isin(scores.both_diverged), BOTH_DIVERGED, "")
    return pd.DataFrame({UNIVERSE: universe, "number": number, "why": why})


def settings_in(universes: pd.DataFrame) -> pd.DataFrame:
    """The settings in a table of universes, under their names."""
    settings = universes.loc[:, universes.columns.str.startswith(SETTING)]
    return settings.rename(columns=lambda name: name.removeprefix(SETTING))


def specification_curve(
    claims: str | Path | ClaimsFile, tables: str | Path | Tables, claim: str
) -> pd.DataFrame:
    """The universes of a claim that count, sorted by effect: settings, ``effect`` and ``side``.

    ``side`` is 1 where the claim holds beyond the margin, −1 where its opposite does, else 0.
    Claims and tables are files, or read already. Raises a UserError like ``check``, for an unknown
    id, and for a claim without universes.
    """
    file = claims if isinstance(claims, ClaimsFile) else read_claims(claims)
    over = {id: each for id, each in file.claims.items() if each.universes is not None}
    chosen = over[one_of("claim", claim, over)]
    read = tables if isinstance(tables, Mapping) else checked_tables(file, tables)
    universes = universes_of(chosen, {}, read)
    assert isinstance(chosen.expectation, Expectation)  # claims over universes have one
    counting = universes[universes["why"] == ""].drop(columns="why")
    curve = counting.sort_values(["effect", UNIVERSE], ignore_index=True)
    return curve.assign(side=sides(curve["effect"], chosen.expectation))


def _setting(name: str, values: pd.Series) -> pd.Series:
    """Numbers as they are, all else as text; a UserError for numbers with gaps."""
    if is_number(values):
        if values.isna().any():
            raise UserError(f"{name!r} has no value in {values.isna().sum()} universes")
        return values
    return values.map(lambda value: "none" if pd.isna(value) else str(value))

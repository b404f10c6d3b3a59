"""How many claims have each verdict; claims with a mark are counted apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from verdicts.claims.claim import MARKS
from verdicts.row import REGISTERED, Row
from verdicts.statistics import judgement

MARKED = f"{', '.join(MARKS[:-1])} or {MARKS[-1]}"
"""The key of their number, and how they are called."""

WORDS = {
    judgement.HOLDS: ("holds", "hold"),
    judgement.FAILS: ("fails", "fail"),
    judgement.EQUIVALENT: ("shows no difference (equivalent)", "show no difference (equivalent)"),
    judgement.UNDECIDED: ("is undecided", "are undecided"),
    judgement.NOT_RUN: ("is not run", "are not run"),
    judgement.ROBUST: ("is robust", "are robust"),
    judgement.DEPENDS: ("depends on settings", "depend on settings"),
    judgement.REVERSED: ("is reversed", "are reversed"),
    judgement.NO_EFFECT: ("shows no effect", "show no effect"),
}
"""What is said of one claim with a verdict, and of several."""


def counts(rows: Iterable[Row]) -> dict[str, int]:
    """The number of claims with each verdict, and of those apart (``MARKED``), zeros included.

    Cells do not count. Verdicts over universes are left out where there are none.
    """
    return counts_of((row.verdict, row.mark) for row in rows if not row.cell)


def counts_of(claims: Iterable[tuple[str, str | None]]) -> dict[str, int]:
    """``counts`` of the verdict and the mark of each claim."""
    whole = list(claims)
    found = [verdict for verdict, mark in whole if not mark]
    over = [each for each in judgement.OVER_UNIVERSES if each in found]
    numbers = {each: found.count(each) for each in (*judgement.VERDICTS, *over)}
    return {**numbers, MARKED: len(whole) - len(found)}


def registered(rows: Iterable[Row]) -> str:
    """``Of 70 claims with runs, 60 were registered before their first run, …``; empty if none is.

    Claims of which that is not known do not count; those with a mark do.
    """
    found = [row.registered for row in rows if row.registered and not row.cell]
    if not found:
        return ""
    before, changed, added = map(found.count, REGISTERED)
    return (
        f"Of {len(found)} claims with dated runs, {before} {_were(before)} registered before their "
        f"first run, {changed} {_were(changed)} changed after it, and {added} came later."
    )


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def counted(counts: Mapping[str, int]) -> str:
    """``Of 70 claims, 31 hold, …, and 12 are not run; 4 more are trivial, circular or …``"""
    found = {each: number for each, number in counts.items() if each != MARKED}
    number = sum(found.values())
    parts = [f"{found[each]} {WORDS[each][found[each] != 1]}" for each in found]
    said = f"Of {number} claim{'' if number == 1 else 's'}, " + ", ".join(parts[:-1])
    apart = counts[MARKED]
    more = f"; {apart} more {'is' if apart == 1 else 'are'} {MARKED}" if apart else ""
    return f"{said}, and {parts[-1]}{more}."
